"""The further names of files, linked to the copy of the first when every file is in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any

from fanout.copying.copy_shard import settled_indexes
from fanout.facts import tuning
from fanout.finishing.divide import LinkRange
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import link_from_row
from fanout.model.books import tally
from fanout.model.deadline import Deadline
from fanout.model.entry import Entry
from fanout.model.errors import problem_of
from fanout.model.outcome import Outcome, Reason, Result
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.shards.entry_report import report_done
from fanout.work.context import Context

# Outcomes written at once: what a repeated task repeats at most.
NAMES_PER_FILE = 2_000
_ATTEMPTS = 3


def link_names(plan: Plan, context: Context, links: Iterable[LinkRange], deadline: Deadline) -> tuple[int, bool]:
    """Link every further name that has no outcome yet; returns how many got one, and whether all have one now.

    A name is linked only if this run copied the first name of its file, and only if
    it still is a name of the file that was listed.
    """
    done = 0
    source, destination = context.source(plan), context.destination(plan)
    with ThreadPoolExecutor(tuning.CLIENT_OPERATIONS_IN_FLIGHT) as pool:
        for link in links:
            shard, copied = link.shard, copied_paths(link.copied_by, context.ledger)
            outcome_of = partial(_outcome, source, destination, copied)
            # Ranges of one shard may have the same nonce, so the number of a file begins with its first row.
            for number, rows in enumerate(_batches(_open_rows(link, context.ledger)), link.first):
                if done and deadline.passed:
                    return done, False
                outcomes = dict(zip([index for index, _ in rows], pool.map(outcome_of, rows), strict=True))
                name = f"{context.nonce}-{number:04d}"
                report_done(plan, context.ledger, "copy", f"{shard.id}-{name}", outcomes.values())
                context.ledger.write_outcomes(shard.id, name, outcomes, tally(outcomes.values()))
                done += len(outcomes)
    return done, True


def copied_paths(shard_id: str, ledger: Ledger) -> frozenset[str]:
    """The paths that a shard copied; none for no shard."""
    files = ledger.outcome_files(shard_id) if shard_id else []
    outcomes = (outcome for file in files for _, outcome in ledger.read_outcomes(file))
    return frozenset(outcome.path for outcome in outcomes if outcome.result is Result.COPIED)


def _open_rows(link: LinkRange, ledger: Ledger) -> Iterator[tuple[int, list[Any]]]:
    settled = settled_indexes(link.shard, ledger)
    rows = enumerate(ledger.read_rows_as(link.shard.key, list, link.shard.entries))
    return ((index, row) for index, row in rows if link.first <= index < link.end and index not in settled)


def _batches(rows: Iterable[tuple[int, list[Any]]]) -> Iterator[list[tuple[int, list[Any]]]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, NAMES_PER_FILE)):
        yield batch


def _outcome(source: Tree, destination: Tree, copied: frozenset[str], indexed: tuple[int, list[Any]]) -> Outcome:
    row = indexed[1]
    entry, first = link_from_row(row)
    if not first:
        return Outcome.because(entry, Reason.SAME)
    if first not in copied:
        return Outcome.because(entry, Reason.FIRST_NAME, f"its first name is {first}")
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _link(source, destination, entry, first)
        except Exception as error:  # noqa: BLE001 - see problem_of
            problem = problem_of(error)
            if problem.reason is Reason.TRANSIENT and attempt < _ATTEMPTS:
                continue
            return Outcome.because(entry, problem.reason, problem.message)
        break
    return Outcome.done(entry, Result.COPIED, message=f"linked to {first}")


def _link(source: Tree, destination: Tree, entry: Entry, first: str) -> None:
    source.open(entry).close()
    assert destination.file_system is not None  # further names are planned between file systems alone
    destination.file_system.link(entry, first)
