"""Our part of ``benchmarks.no_change``: what the functions of a run do that finds nothing to do.

    python -m benchmarks.no_change_run LISTERS SOURCE DESTINATION LEDGER

A module of its own, so that nothing but what those functions import is in the time. With several LISTERS the listing
is cut before it begins, and as many processes share the pieces.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.directory_store import DirectoryStore
from benchmarks.machine_clock import MachineClock
from fanout.adapters.posix.tree import PosixTree
from fanout.domain.rows import Json, segment_from_row
from fanout.domain.segments import Segment, cut
from fanout.ledger import Ledger
from fanout.steps.context import Context
from fanout.steps.gather_segments import gather_segments
from fanout.steps.list_segment import list_segment
from fanout.steps.partition_shards import partition_shards
from fanout.steps.plan_transfer import begin_round, plan_transfer
from fanout.steps.summarise_transfer import summarise_transfer

REQUEST: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync"}
RUN = "no-change"
PIECES_EACH = 8
SECONDS = 3600.0


def context_of(source: Path, destination: Path, scratch: Path) -> Context:
    """What a function gets: a ledger and two trees."""
    clock = MachineClock()
    return Context(
        ledger=Ledger(DirectoryStore(scratch), RUN),
        clock=clock,
        deadline=clock.now() + SECONDS,
        nonce="bench",
        source=lambda _: PosixTree(source, "", RUN, "bench", "source"),
        destination=lambda _: PosixTree(destination, "", RUN, "bench"),
        forks=lambda _: True,
    )


def _list(row: Json, source: Path, destination: Path, scratch: Path) -> None:
    list_segment(segment_from_row(row), context_of(source, destination, scratch))


def run_ours(source: Path, destination: Path, scratch: Path, listers: int = 1) -> Json:
    """The steps of a run that finds everything unchanged; returns its summary."""
    context = context_of(source, destination, scratch)
    plan = plan_transfer(REQUEST, context, ("data",), 100, "work")
    reference = plan["list"]
    if listers > 1:
        whole = Segment("")
        cuts = context.source(context.ledger.read_plan()).cuts(whole, PIECES_EACH * listers)
        reference = begin_round(context, 1, cut(whole, cuts))
    run_segment = partial(_list, source=source, destination=destination, scratch=scratch)
    while reference["count"]:
        rows = context.ledger.read_json(reference["key"].removeprefix(context.ledger.prefix))
        if listers > 1:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            with ProcessPoolExecutor(listers, get_context("fork")) as functions:
                list(functions.map(run_segment, rows))
        else:
            list(map(run_segment, rows))
        reference = gather_segments(reference["round"], context)
    partition_shards(context)
    summarise_transfer(None, context)
    summary: Json = context.ledger.read_json("summary.json")
    return summary


def main(arguments: list[str]) -> int:
    """1 if something was not unchanged."""
    listers, source, destination, scratch = arguments
    summary = run_ours(Path(source), Path(destination), Path(scratch), int(listers))
    # Bytes, because a directory that a cut lies in counts as one to be set right again.
    return 0 if summary["totals"]["unchanged"]["bytes"] == summary["totals"]["listed"]["bytes"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
