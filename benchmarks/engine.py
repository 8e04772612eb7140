"""Ours: the tree listed and cut into shards as the product does, then N worker processes on N mounts."""

from __future__ import annotations

import json
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from benchmarks import interpreter
from benchmarks.directory_store import DirectoryStore
from benchmarks.memory import PeakMemory
from benchmarks.worker import RUN, context_of
from fanout.adapters.posix.tree import PosixTree
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import tuning
from fanout.finishing.assemble_big_files import assemble_big_files
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Books
from fanout.model.columns import Listed, count_and_bytes
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry
from fanout.model.location import MountLocation
from fanout.model.outcome import Result
from fanout.model.segment import Segment
from fanout.model.shard import BigFile, Shard, block_bytes_of
from fanout.request.options import Compare
from fanout.request.parts.limits import Limits
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.shards.big_files import cut
from fanout.shards.packing import pack
from fanout.shards.partitioned import SHARDS, MapItem
from fanout.shards.shard_results import big_file_outcomes, shard_result
from fanout.turns.withdrawal import withdraw


@dataclass(frozen=True)
class EngineRun:
    """Seconds of the workers, their start included, and of listing, partitioning and finishing around them."""

    seconds: float
    seconds_around: float
    peak_rss_mb: float
    shards: int


def copy_tree(source: Path, mounts: list[Path], scratch: Path) -> EngineRun:
    """Copy a tree to ``copy/`` of the mounted file system. Raises if an entry was not copied."""
    began = time.monotonic()
    ledger = Ledger(DirectoryStore(scratch), RUN)
    shards = partition(source, len(mounts), ledger)
    context_of(scratch, source, mounts[0], "check").destination(ledger.read_plan()).check(writing=True)
    started = time.monotonic()
    peak_mb = _run_workers(shards, source, mounts, scratch)
    finishing = context_of(scratch, source, mounts[0], "finish")
    begun = list(ledger.keys(keys.BIG_FILES_BEGUN))
    assemble_big_files(finishing, ledger.read_plan(), begun, NEVER)  # before it such a file is not there
    ended = time.monotonic()
    withdraw(ledger.read_plan(), finishing)
    finished = time.monotonic()
    books = Books()
    for shard in (one for one in shards if one.blocks is None):
        books = books.plus(Books().listed, shard_result(shard, ledger).results)
    big = [outcome.result for _, outcome in big_file_outcomes(ledger)]
    copied = books.by_result[Result.COPIED].entries + big.count(Result.COPIED)
    listed = sum(shard.entries for shard in shards) + len({shard.key for shard in shards if shard.blocks is not None})
    if copied != listed:
        raise RuntimeError(f"{listed} entries, {copied} copied")
    return EngineRun(ended - started, started - began + finished - ended, peak_mb, len(shards))


def partition(source: Path, workers: int, ledger: Ledger) -> list[Shard]:
    """A shard a worker where the tree allows it, packed as PartitionShards packs loose ends; big files in parts."""
    where = MountLocation("", "")
    request = Request(source=where, destination=where, compare=Compare.ALWAYS, limits=Limits(workers, 60.0))
    ledger.write(keys.PLAN, Plan(RUN, request, DEFAULT_RATES))
    entries = list(PosixTree(source, "", RUN, "list", "source").list(Segment("all")))
    large = [entry for entry in entries if entry.size >= tuning.SPLIT_BYTES]
    rest = [entry for entry in entries if entry.size < tuning.SPLIT_BYTES]
    shards = [
        shard for number, entry in enumerate(large) for shard in _cut(f"big-{number:04d}", entry, workers, ledger)
    ]
    seconds = sum(DEFAULT_RATES.seconds(1, entry.size) for entry in rest)
    for number, packed in enumerate(pack(rest, DEFAULT_RATES, seconds / workers * 1.001)):
        shards.append(_write(f"shard-{number:04d}", packed, ledger))
    ledger.write(SHARDS, list(map(MapItem, shards)))
    return shards


def _cut(name: str, entry: Entry, workers: int, ledger: Ledger) -> list[Shard]:
    """A part a worker, as ListSegment cuts."""
    big = BigFile(name, entry, block_bytes_of(entry.size), f"token-{name}")
    key = keys.big_file_key(name)
    ledger.write(key, big)
    return list(cut(big, key, DEFAULT_RATES, DEFAULT_RATES.seconds(1, entry.size) / workers))


def _write(name: str, listed: list[Listed], ledger: Ledger) -> Shard:
    entries, size = count_and_bytes(listed)
    key = ledger.write_shard(name, listed)
    return Shard(name, key, entries, size, DEFAULT_RATES.seconds(entries, size))


def _run_workers(shards: list[Shard], source: Path, mounts: list[Path], scratch: Path) -> float:
    """Deal the shards out, longest first; returns the most memory that one worker held, in MB."""
    ordered = sorted(shards, key=lambda shard: -shard.seconds)
    processes: list[subprocess.Popen[bytes]] = []
    with ExitStack() as watched:
        peaks = []
        for number, mount in enumerate(mounts):
            rows = [json.dumps(to_builtins(shard)) for shard in ordered[number :: len(mounts)]]
            command = [interpreter.of_worker(), "-m", "benchmarks.worker", str(scratch), str(source), str(mount), *rows]
            processes.append(subprocess.Popen(command))
            peaks.append(watched.enter_context(PeakMemory([processes[-1].pid])))
        for process in processes:
            if process.wait():
                raise RuntimeError(f"a worker ended with {process.returncode}")
    return max(peak.mb for peak in peaks)
