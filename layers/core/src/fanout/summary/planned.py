"""Computes the changes that a copy and a sync would make, from the ledger of a plan's listing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice

from msgspec import to_builtins

from fanout.books.run_books import RunBooks, listing_books
from fanout.books.summary_document import Planned, PlannedEntry
from fanout.deleting.deletions import listed_extras
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.request.request import knows_extras
from fanout.shards.partitioned import links_of, shards_of

# Rows of one file; a plan of more than one is compressed.
ROWS_PER_FILE = 100_000


def planned_books(ledger: Ledger, add_failure: Callable[[Outcome, str], None]) -> RunBooks:
    """The books of the listing alone; what is to be copied has no outcome."""
    books, complete, _ = listing_books(ledger, add_failure)
    right = {Result.UNCHANGED: _right_names(_links(ledger), ledger)}
    return RunBooks(books.plus(Count(), right), complete, shards_of(ledger), [])


def planned_run(plan: Plan, ledger: Ledger) -> Planned:
    """The planned changes, written row by row to planned.jsonl."""
    request = plan.request
    shards, links = shards_of(ledger), _links(ledger)
    extras = listed_extras(ledger, request)
    copies, shared = ([one for one in shards if one.linked is linked] for linked in (False, True))
    _write(_entries(copies, shared, links, [one.shard for one in extras.deletions], ledger), ledger)
    right = _right_names(links, ledger)
    total = sum(shard.seconds for shard in shards)
    longest = max((shard.seconds for shard in shards), default=0.0)
    return Planned(
        to_copy=sum((Count(shard.entries, shard.bytes) for shard in copies + links), Count()) - right,
        to_delete=extras.extra if knows_extras(request) else None,
        delete_refused=extras.refusal(request) or None,
        predicted_seconds=round(max(longest, total / request.limits.max_concurrency), 3),
    )


def _links(ledger: Ledger) -> list[Shard]:
    return [one.shard for one in links_of(ledger)]


def _right_names(links: list[Shard], ledger: Ledger) -> Count:
    """Names of files with several that are right already: they have no first name to be linked to."""
    rows = (row for shard in links for row in ledger.read_rows(shard.key))
    return sum((Count(1, row[2]) for row in rows if not row[-1]), Count())


def _entries(
    copies: list[Shard], shared: list[Shard], links: list[Shard], deletions: list[Shard], ledger: Ledger
) -> Iterator[PlannedEntry]:
    """``shared`` get names of files of the version before; of ``links`` some are right already."""
    to_link = (entry for shard in links for entry, first in ledger.read_links(shard) if first)
    copied, given, gone = (chain.from_iterable(map(ledger.read_shard, some)) for some in (copies, shared, deletions))
    for action, entries in (("copy", copied), ("link", given), ("link", to_link), ("delete", gone)):
        for entry in entries:
            yield PlannedEntry(action, entry.path, entry.kind, entry.size)


def _write(entries: Iterator[PlannedEntry], ledger: Ledger) -> None:
    """planned.jsonl, written even if it is empty; planned-1.jsonl.gz and on where that would be large."""
    rows = map(to_builtins, entries)  # names may hold bytes that are no text
    number, held = 0, list(islice(rows, ROWS_PER_FILE))
    following = list(islice(rows, ROWS_PER_FILE))
    if not following:
        ledger.write_rows(keys.PLANNED, held)
    while following or number:
        number += 1
        ledger.write_rows(keys.more_planned_key(number), held)
        if not following:
            return
        held, following = following, list(islice(rows, ROWS_PER_FILE))
