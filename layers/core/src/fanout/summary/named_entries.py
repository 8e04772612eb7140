"""The entries that the page of a run names besides the failed ones: planned, deleted, refused to delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from fanout.books.summary_document import Planned
from fanout.deleting.deletions import deleted_entries, listed_extras
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.errors import DeleteRefused, RunError
from fanout.model.shard import Shard
from fanout.report.page import NamedEntries, NamedEntry
from fanout.request.plan import Plan
from fanout.shards.partitioned import shards_of

# The entries that a page shows of each kind.
COPIES_SHOWN = 25
DELETIONS_SHOWN = 200


def named_entries(
    plan: Plan, ledger: Ledger, planned: Planned | None, error: RunError | None, deleted: Count
) -> list[NamedEntries]:
    """The lists of the page. Of very many entries only the first files of the ledger are read."""
    found = []
    if planned is not None:
        copies = _entries((shard for shard in shards_of(ledger) if shard.blocks is None), ledger)
        found.append(NamedEntries("Would be copied", planned.to_copy, list(islice(copies, COPIES_SHOWN))))
        if planned.to_delete is not None:
            found.append(_extras("Would be deleted by a sync", plan, ledger))
    if error is not None and error.name == DeleteRefused.__name__ and not plan.moves:
        found.append(_extras("Refused to delete", plan, ledger))
    if deleted.entries:
        rows = (NamedEntry(one.path, one.size) for one in deleted_entries(ledger))
        end = "source" if plan.moves else "destination"
        found.append(NamedEntries(f"Deleted at the {end}", deleted, list(islice(rows, DELETIONS_SHOWN))))
    return [one for one in found if one.total.entries]


def _extras(title: str, plan: Plan, ledger: Ledger) -> NamedEntries:
    extras = listed_extras(ledger, plan.request)
    rows = _entries((one.shard for one in extras.deletions), ledger)
    return NamedEntries(title, extras.extra, list(islice(rows, DELETIONS_SHOWN)))


def _entries(shards: Iterable[Shard], ledger: Ledger) -> Iterator[NamedEntry]:
    for shard in shards:
        for entry in ledger.read_shard(shard):
            yield NamedEntry(entry.path, entry.size)
