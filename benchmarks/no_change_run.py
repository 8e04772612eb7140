"""Our part of ``benchmarks.no_change``: what the functions of a run do that finds nothing to do.

    python -m benchmarks.no_change_run SOURCE LEDGER DESTINATION [DESTINATION ...]

A module of its own, so that nothing but what those functions import is in the time. Each DESTINATION is the same
tree through the mount of one function. With several of them the listing is cut before it begins, and as many
processes take a piece each.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from itertools import cycle
from pathlib import Path

from msgspec import convert

from benchmarks.directory_store import DirectoryStore
from benchmarks.machine_clock import MachineClock
from benchmarks.own_execution import on_its_own
from fanout.adapters.posix.tree import PosixTree
from fanout.ledger.ledger import Ledger
from fanout.listing.gather_segments import gather_segments
from fanout.listing.list_segment import list_segment
from fanout.listing.rounds import begin_round
from fanout.model.document import Json
from fanout.model.segment import Segment, cut
from fanout.partition.partition_shards import partition_shards
from fanout.planning.plan_transfer import plan_transfer
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.work.context import Context, EndPorts, StackPorts
from fanout.work.processes.crew import begin_crew, find_crew
from tests.support.attempts import attempt_of

REQUEST: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync"}
RUN = "no-change"
SECONDS = 3600.0


def context_of(source: Path, destination: Path, scratch: Path) -> Context:
    """What a function gets: a ledger and two trees."""
    ends = EndPorts(
        source=lambda _: PosixTree(source, "", RUN, "bench", "source"),
        destination=lambda _: PosixTree(destination, "", RUN, "bench"),
        forks=lambda _: True,
    )
    ledger = Ledger(DirectoryStore(scratch), RUN)
    return attempt_of(ledger, MachineClock(), SECONDS, "bench", ends, StackPorts(crew=find_crew()))


def _list(row: Json, destination: Path, source: Path, scratch: Path) -> None:
    begin_crew()
    list_segment(convert(row, Segment), context_of(source, destination, scratch))


def run_ours(source: Path, scratch: Path, destinations: Sequence[Path]) -> Json:
    """The steps of a run that finds everything unchanged; returns its summary."""
    context = context_of(source, destinations[0], scratch)
    plan = plan_transfer(REQUEST, on_its_own(context, REQUEST), ("data",), 100, "work")
    reference = plan["list"]
    if len(destinations) > 1:
        whole = Segment("")
        cuts = context.source(context.ledger.read_plan()).cuts(whole, len(destinations))
        reference = begin_round(context, 1, cut(whole, cuts))
    run_segment = partial(_list, source=source, scratch=scratch)
    while reference["count"]:
        rows = context.ledger.read_json(reference["key"].removeprefix(context.ledger.prefix))
        if len(destinations) > 1:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            with ProcessPoolExecutor(len(destinations), get_context("fork")) as functions:
                list(functions.map(run_segment, rows, cycle(destinations)))
        else:
            run_segment(rows[0], destinations[0])
        reference = gather_segments(reference["round"], context)
    partition_shards(context)
    summarise_transfer(None, context)
    summary: Json = context.ledger.read_json("summary.json")
    return summary


def main(arguments: list[str]) -> int:
    """1 if something was not unchanged."""
    begin_crew()
    source, scratch, *destinations = map(Path, arguments)
    summary = run_ours(source, scratch, destinations)
    crew = find_crew()
    if crew is not None:
        crew.close()  # only then the kernel adds the time of its processes to this one's
    # Bytes, because a directory that a cut lies in counts as one to be set right again.
    return 0 if summary["totals"]["unchanged"]["bytes"] == summary["totals"]["listed"]["bytes"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
