"""The phases that one function does alone, measured beside the model of ``benchmarks.scale``.

python -m benchmarks.phases [--entries 1000000 10000000]

A synthetic tree of files, directories and further names is listed, decided and cut into shards by the engine, in this
process. Every request to the ledger takes as long as the model assumes while a phase is measured. Nothing is copied:
the outcomes and the attempts of each shard are written as a copy would write them, but for their rows, which no phase
reads where nothing failed. docs/understand/limits.md says how far the model is off.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import resource
import subprocess
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks import scale_phases as model
from benchmarks.partition import SystemClock
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import aws
from fanout.finishing.link_names import NAMES_PER_FILE
from fanout.flow.calls import StackSettings
from fanout.flow.steps import STEPS, run_step
from fanout.flow.walker import Walker, never
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.listing.index.copied_index import EARLIER, IndexOf
from fanout.listing.rounds import begin_round
from fanout.model.books import Count
from fanout.model.columns import Listed, in_columns
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import NotFound
from fanout.model.outcome import Result
from fanout.model.segment import Prunes, Segment
from fanout.model.shard import Shard
from fanout.ports.tree import Tree
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from fanout.shards.partitioned import read_partition
from fanout.shards.record import Record, record_key, record_rows_key
from fanout.shards.round_records import whole_listing
from fanout.shards.tasks.attempt import Attempt, AttemptEnd, attempt_key
from fanout.work.context import Context, EndPorts
from tests.support.attempts import attempt_of

FILES = model.FILES_A_DIRECTORY
# Entries of a directory: itself, its files, and one further name of its first file.
EACH = FILES + 1 + FILES * model.LINKED_PERCENT // 100
ASKED_ERROR = 0.25
PHASES = ("GatherSegments", "PartitionShards", "BeginDeletion", "SummariseTransfer")
MACHINE: Json = json.loads((Path(__file__).parents[1] / "statemachine/transfer.asl.json").read_text(encoding="utf-8"))
FUNCTIONS = {state: step.function for state, step in STEPS.items()}
RESULTS = Path(__file__).parent / "results" / "phases.json"


class SlowStore:
    """A work store in memory; a request takes as long as the model assumes where ``slow`` is set."""

    def __init__(self) -> None:
        self.slow = False
        self.requests: dict[str, int] = {}
        self.phase = ""
        self._held: dict[str, bytes] = {}
        self._sorted: list[str] = []

    def put(self, key: str, data: bytes) -> None:
        """See ``ports.store.WorkStore``."""
        self._wait(model.LEDGER_SECONDS)
        if key not in self._held:
            self._sorted = []
        self._held[key] = data

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``."""
        is_new = key not in self._held
        if is_new:
            self.put(key, data)
        return is_new

    def get(self, key: str) -> bytes:
        """See ``ports.store.WorkStore``."""
        self._wait(model.LEDGER_SECONDS)
        if key not in self._held:
            raise NotFound(key)
        return self._held[key]

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.store.WorkStore``; a page holds a thousand keys, and few of them come as fast as an object."""
        self._sorted = self._sorted or sorted(self._held)
        held = self._sorted
        for number, place in enumerate(range(bisect_left(held, prefix), len(held)), start=1):
            if not held[place].startswith(prefix):
                break
            if number % aws.LIST_PAGE_KEYS == 0:
                self._wait(model.LIST_SECONDS)
            yield held[place]
        self._wait(model.LEDGER_SECONDS)

    def remove(self, keys: Sequence[str]) -> None:
        """See ``ports.store.WorkStore``."""
        self._wait(model.LEDGER_SECONDS)
        for key in keys:
            self._held.pop(key, None)
        self._sorted = []

    def _wait(self, seconds: float) -> None:
        if self.slow:
            self.requests[self.phase] = self.requests.get(self.phase, 0) + 1
            time.sleep(seconds)


class SyntheticTree:
    """``count`` entries: directories of ``FILES`` files, the first of which has one more name; only to be listed."""

    def __init__(self, count: int) -> None:
        self._count = count

    def list_columns(self, segment: Segment, prunes: Prunes) -> Iterator[Listed]:
        """See ``ports.tree.Tree``."""
        first = number_of(segment.after) + 1 if segment.after else 0
        last = min(self._count - 1, number_of(segment.until)) if segment.until else self._count - 1
        return in_columns(map(entry_of, range(first, last + 1)), aws.LIST_PAGE_KEYS)

    def cuts(self, segment: Segment, ways: int) -> list[str]:
        """See ``ports.tree.Tree``."""
        first = number_of(segment.after) + 1 if segment.after else 0
        last = number_of(segment.until) if segment.until else self._count - 1
        return [entry_of(first + (last - first) * way // ways).path for way in range(1, ways)]

    def find(self, path: str) -> Entry | None:
        """See ``ports.tree.Tree``."""
        return entry_of(number_of(path)) if number_of(path) < self._count else None


def entry_of(number: int) -> Entry:
    """The entry with a number, in the order of paths."""
    directory, place = divmod(number, EACH)
    if place == 0:
        return Entry(f"set-{directory:07d}/", Kind.DIRECTORY, 0, 10**18, 10**18)
    inode = f"{directory}:1" if place in (1, EACH - 1) else ""
    path = f"set-{directory:07d}/file-{place:05d}.dat"
    return Entry(path, Kind.FILE, 100_000 + (0 if inode else number % 977), 10**18, 10**18, inode=inode)


def number_of(path: str) -> int:
    """The number of the entry with a path."""
    directory, _, name = path.partition("/")
    return int(directory[4:]) * EACH + (int(name[5:10]) if name else 0)


class Run:
    """A run over a ledger whose requests take time while a phase is measured."""

    def __init__(self, count: int) -> None:
        self.store = SlowStore()
        self.ledger = Ledger(self.store, "bench")
        self.clock = SystemClock()
        self._nonces = (f"n{number}" for number in itertools.count())
        self._ends = {True: cast(Tree, SyntheticTree(count)), False: cast(Tree, SyntheticTree(0))}
        self.seconds: dict[str, float] = {}
        self.rounds: list[int] = []

    def context(self) -> Context:
        """A task's."""
        ends = EndPorts(source=lambda _: self._ends[True], destination=lambda _: self._ends[False])
        return attempt_of(self.ledger, self.clock, 86_400, next(self._nonces), ends)

    def timed(self, phase: str, work: Callable[[], Any]) -> Any:
        """Do the work with a slow ledger; the longest of each phase counts."""
        gc.collect()
        self.store.slow, self.store.phase = True, phase
        began = time.monotonic()
        try:
            return work()
        finally:
            self.store.slow = False
            self.seconds[phase] = max(self.seconds.get(phase, 0.0), time.monotonic() - began)

    def walk(self, start: str, more: Json, stop: str) -> Json:
        """Walk the machine from one of its states to another; the phases that one function does alone are timed."""
        place = {"id": "bench", "prefix": self.ledger.prefix, "bucket": "work", "apart": "", "functions": FUNCTIONS}
        walker = Walker(MACHINE, self._task, self._rows, self.clock, {"Id": "bench", "Name": "bench"}, never)
        found: Json = walker.walk(start, {"run": place, **more}, {stop})[1]
        return found

    def _task(self, _function: str, event: Json) -> Json:
        name = event["step"]
        if name == "GatherSegments":
            self.rounds.append(event["list"]["count"])
        step, context = STEPS[name], self.context()
        step.load()

        def work() -> Json:
            return step.answers(event, run_step(step, event, context, StackSettings(("data",), 1000, "work")))

        return cast(Json, self.timed(name, work)) if name in PHASES else work()

    def _rows(self, _bucket: str, key: str) -> Any:
        return self.ledger.read_json(key.removeprefix(self.ledger.prefix))

    def copied(self) -> int:
        """Outcomes and attempts of all shards; the number of shards of copies."""
        listed = sum(
            sum(s.entries for s in done.shards + done.loose + done.names) for done in whole_listing(self.ledger)
        )
        partition = read_partition(self.ledger, listed)
        for shard in partition.shards:
            self._outcomes(shard, round(model.FILES_A_SHARD))
        for one in partition.links:
            self._outcomes(one.shard, -(-one.shard.entries // NAMES_PER_FILE))
        return len(partition.shards)

    def _outcomes(self, shard: Shard, files: int) -> None:
        began = self.clock.now()
        attempt = Attempt(shard.id, "n", began)
        self.ledger.mark(attempt_key("copy", attempt))
        bounds = [shard.entries * part // files for part in range(files + 1)]
        for number, (first, end) in enumerate(itertools.pairwise(bounds)):
            counts = {
                Result.COPIED: Count(
                    end - first, shard.bytes // files if number else shard.bytes - shard.bytes // files * (files - 1)
                )
            }
            self.ledger.write_rows(record_rows_key(shard.id, f"n-{number:04d}"), [])
            self.ledger.write(record_key(shard.id, f"n-{number:04d}"), Record([(first, end)], counts, 1.0))
        ended = Attempt(shard.id, "n", began, began + 60, shard.entries, shard.bytes, shard.entries, AttemptEnd.DONE)
        self.ledger.mark(attempt_key("copy", ended))


def run(count: int) -> list[dict[str, Any]]:
    """The phases of a sync of so many entries, in this process."""
    one = Run(count)
    request = parse_request({"source": "efs:///in", "destination": "efs:///out", "mode": "sync"}, ("data",), 1000)
    one.ledger.write(keys.PLAN, Plan("bench", request, DEFAULT_RATES))
    one.ledger.write(EARLIER, IndexOf(""))  # the first run of its transfer
    one.ledger.begin("plan", one.clock.now())
    one.walk("OneSegment?", {"list": begin_round(one.context(), 1, [Segment("")])}, "WhatToDo?")
    shards = one.copied()
    one.walk("BeginDeletion", {}, "AnyToDelete?")
    ended = one.walk("SummariseTransfer", {}, "TransferSucceeded?")["summary"]
    assert ended["status"] == "SUCCEEDED", ended
    rounds, segments, widest = len(one.rounds), sum(one.rounds), max(one.rounds)
    on_paper = {
        "GatherSegments": model.gather_seconds(widest),
        "PartitionShards": model.partition_seconds(count, rounds, segments, count / shards),
        "BeginDeletion": model.deletion_seconds(count, shards),
        "SummariseTransfer": model.summarise_seconds(count, shards),
    }
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        {"entries": count, "phase": phase, "model": round(on_paper[phase], 2), "measured": round(seconds, 2),
         "error": round(on_paper[phase] / seconds - 1, 3), "rounds": rounds, "segments": segments, "shards": shards,
         "requests": one.store.requests[phase], "process_mb": round(held)}
        for phase, seconds in one.seconds.items()
    ]  # fmt: skip


def main() -> int:
    """Measure each size in a process of its own; 1 if the model is further off than asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--here", action="store_true", help="in this process, as JSON")
    given = parser.parse_args()
    if given.here:
        print(json.dumps(run(given.entries[0])))
        return 0
    found: list[dict[str, Any]] = []
    print("| entries | phase | on paper s | measured s | error |\n|---|---|---|---|---|")
    for count in given.entries:
        command = [sys.executable, "-m", "benchmarks.phases", "--here", "--entries", str(count)]
        for row in json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout):
            figures = f"{row['model']} | {row['measured']} | {row['error'] * 100:+.0f}%"
            print(f"| {row['entries']:,} | {row['phase']} | {figures} |", flush=True)
            found.append(row)
    RESULTS.write_text(json.dumps({"schema_version": 1, "rows": found}, indent=1) + "\n")
    return int(any(abs(row["error"]) > ASKED_ERROR for row in found))


if __name__ == "__main__":
    sys.exit(main())
