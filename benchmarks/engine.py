"""Ours: the tree listed and cut into shards as the product does, then N worker processes on N mounts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.directory_store import DirectoryStore
from benchmarks.worker import RUN, context_of
from fanout.adapters.posix.tree import PosixTree
from fanout.domain.books import Books
from fanout.domain.decisions import Compare
from fanout.domain.entries import Entry
from fanout.domain.locations import MountLocation
from fanout.domain.outcomes import Result
from fanout.domain.partitioning import Shard, pack, spread
from fanout.domain.plan import Plan
from fanout.domain.request import Limits, Request
from fanout.domain.rows import shard_row
from fanout.domain.segments import Segment
from fanout.domain.weights import DEFAULT_RATES
from fanout.ledger import Ledger
from fanout.steps.shard_results import shard_result


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
    shards = _partition(source, len(mounts), ledger)
    started = time.monotonic()
    peaks = _run_workers(shards, source, mounts, scratch)
    ended = time.monotonic()
    context_of(scratch, source, mounts[0], "finish").destination(ledger.read_plan()).finish()
    finished = time.monotonic()
    books = Books()
    for shard in shards:
        books = books.plus(Books().listed, shard_result(shard, ledger).results)
    copied, listed = books.by_result[Result.COPIED].entries, sum(shard.entries for shard in shards)
    if copied != listed:
        raise RuntimeError(f"{listed} entries, {copied} copied")
    return EngineRun(ended - started, started - began + finished - ended, max(peaks) / 1000, len(shards))


def _partition(source: Path, workers: int, ledger: Ledger) -> list[Shard]:
    """A shard a worker where the tree allows it, each packed as PartitionShards packs loose ends."""
    where = MountLocation("", "")
    request = Request(where, where, Compare.ALWAYS, Limits(workers, 60.0))
    ledger.write_plan(Plan(RUN, request, DEFAULT_RATES))
    entries = list(PosixTree(source, "", RUN, "list", "source").list(Segment("all")))
    seconds = sum(DEFAULT_RATES.seconds(1, entry.size) for entry in entries)
    return [
        _write(f"shard-{number:04d}", packed, ledger)
        for number, packed in enumerate(pack(entries, DEFAULT_RATES, seconds / workers * 1.001))
    ]


def _write(name: str, entries: list[Entry], ledger: Ledger) -> Shard:
    size = sum(entry.size for entry in entries)
    key = ledger.write_shard(name, spread(entries))
    return Shard(name, key, len(entries), size, DEFAULT_RATES.seconds(len(entries), size))


def _run_workers(shards: list[Shard], source: Path, mounts: list[Path], scratch: Path) -> list[int]:
    """Deal the shards out, longest first; returns each worker's peak memory in KiB."""
    ordered = sorted(shards, key=lambda shard: -shard.seconds)
    processes = []
    for number, mount in enumerate(mounts):
        rows = [json.dumps(shard_row(shard)) for shard in ordered[number :: len(mounts)]]
        command = [sys.executable, "-m", "benchmarks.worker", str(scratch), str(source), str(mount), *rows]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    peaks = []
    for process in processes:
        output, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"a worker ended with {process.returncode}")
        peaks.append(int(output))
    return peaks
