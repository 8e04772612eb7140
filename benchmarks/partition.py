"""Synthetic entries through list, decide, partition: entries a second and peak memory, a process for each size.

python -m benchmarks.partition [--entries 1000000 10000000]
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import cast

from benchmarks.discarding_store import DiscardingStore
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import aws, tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.listing.gather_segments import gather_segments
from fanout.listing.index.copied_index import EARLIER, IndexOf
from fanout.listing.list_segment import list_segment
from fanout.listing.rounds import begin_round
from fanout.model.columns import Listed, in_columns
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Prunes, Segment, open_round
from fanout.partition.partition_shards import partition_shards
from fanout.ports.tree import Tree
from fanout.request.parse import parse_request
from fanout.request.plan import Plan
from fanout.shards.partitioned import SHARDS
from fanout.work.context import Context, EndPorts
from tests.support.attempts import attempt_of

FILES_A_DIRECTORY = 500
# Every so many files are the same at the destination.
UNCHANGED_EVERY = 3


class SyntheticTree:
    """Every ``step``-th of ``count`` files of about 20 KB, ``FILES_A_DIRECTORY`` in each; only to be listed."""

    def __init__(self, count: int, step: int, changed_ns: int) -> None:
        self._count, self._step, self._changed_ns = count, step, changed_ns

    def list_columns(self, segment: Segment, prunes: Prunes) -> Iterator[Listed]:
        """See ``ports.tree.Tree``; the whole tree is one segment."""
        return in_columns(self._entries(), aws.LIST_PAGE_KEYS)

    def _entries(self) -> Iterator[Entry]:
        for number in range(0, self._count, self._step):
            path = f"set-{number // FILES_A_DIRECTORY:06d}/file-{number:09d}.dat"
            yield Entry(path, Kind.FILE, 20_000 + number % 977, 10**18, self._changed_ns, f'"{number:032x}"')

    def find(self, path: str) -> Entry | None:
        """See ``ports.tree.Tree``."""
        return None


class SystemClock:
    """See ``ports.tree.Clock``."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


def list_and_partition(source: Tree, destination: Tree, ledger: Ledger, request: Json) -> int:
    """List, decide and partition a whole tree in one segment; returns the number of shards."""
    tuning.SEGMENT_ENTRIES = sys.maxsize  # one function, to see whether its memory grows
    nonces = (f"n{number}" for number in itertools.count())

    def context() -> Context:
        ends = EndPorts(source=lambda _: source, destination=lambda _: destination)
        return attempt_of(ledger, SystemClock(), 86_400, next(nonces), ends)

    ledger.write(keys.PLAN, Plan("bench", parse_request(request, ("data",), 1000), DEFAULT_RATES))
    ledger.write(EARLIER, IndexOf(""))  # the first run of its transfer
    begin_round(context(), 1, [Segment("")])
    (segment,) = open_round(1, [Segment("")])
    list_segment(Segment(segment.id, budget_entries=sys.maxsize, budget_seconds=86_400.0), context())
    gather_segments(1, context())
    shards: int = partition_shards(context())["count"]
    return shards


def run(count: int) -> dict[str, float]:
    """List, decide and partition so many entries in this process."""
    source = cast(Tree, SyntheticTree(count, 1, 10**18))
    destination = cast(Tree, SyntheticTree(count, UNCHANGED_EVERY, 10**18 + 10**10))
    ledger = Ledger(DiscardingStore(("shards/", "outcomes/", "index/")), "bench")
    began, cpu_began = time.perf_counter(), time.process_time()
    found = list_and_partition(
        source, destination, ledger, {"source": "s3://bucket/tree/", "destination": "efs:///copy"}
    )
    seconds = time.perf_counter() - began
    cpu_seconds = time.process_time() - cpu_began
    shards = ledger.read_json(SHARDS)
    copied = sum(row["shard"]["entries"] for row in shards)
    assert copied == count - len(range(0, count, UNCHANGED_EVERY)), copied
    return {
        "entries": count,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "entries_per_cpu_second": round(count / cpu_seconds),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "shards": found,
    }


def main() -> None:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--here", action="store_true", help="in this process, as JSON")
    given = parser.parse_args()
    if given.here:
        print(json.dumps(run(given.entries[0])))
        return
    print(f"{'entries':>12}{'seconds':>10}{'CPU s':>10}{'entries/CPU s':>15}{'peak RSS MB':>13}{'shards':>8}")
    for count in given.entries:
        command = [sys.executable, "-m", "benchmarks.partition", "--here", "--entries", str(count)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{row['entries']:12,}{row['seconds']:10}{row['cpu_seconds']:10}{row['entries_per_cpu_second']:15,}"
            f"{row['peak_rss_mb']:13}{row['shards']:8,}",
            flush=True,
        )


if __name__ == "__main__":
    main()
