"""Reads the entries that a sync or a move deletes from the ledger, and their outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from fanout.deleting.guard import Scope, refusal
from fanout.ledger import keys
from fanout.ledger.documents import Marker
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import INFRASTRUCTURE, RunError
from fanout.model.outcome import Result
from fanout.model.shard import Deletion, Shard
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.shards.record import each_once, records
from fanout.shards.round_records import RoundRecord, whole_listing
from fanout.shards.shard_results import Absent, ShardResult, shard_outcomes, shard_result, total_of


class Deletions(Struct, frozen=True):
    """deleted-directories.json: the shards of directories that a sync removes."""

    deletions: list[Deletion]


DELETED_DIRECTORIES = ObjectKind("deleted-directories.json", Deletions, by=("BeginDeletion",))


# RemoveDirectories has ended its work, and did not only give up the right to write.
DIRECTORIES_REMOVED = ObjectKind("removed-directories.json", Marker, by=("RemoveDirectories",))


class ListedExtras(Struct, frozen=True):
    """The shards of extras, and what the guard needs to know of the listing."""

    deletions: list[Deletion]
    extra: Count
    found: Scope

    def refusal(self, request: Request) -> str:
        """Why a sync of this request may not delete them; empty if it may."""
        return refusal(self.found, request.delete_guard)


def listed_extras(ledger: Ledger, request: Request) -> ListedExtras:
    """The extras of the whole listing. Raises ``LedgerBroken`` if it is not complete."""
    return extras_of(whole_listing(ledger), request)


def extras_of(rounds: Iterable[RoundRecord], request: Request) -> ListedExtras:
    """The extras that all rounds of the listing found, and the counts of both ends in scope of the request."""
    deletions: list[Deletion] = []
    source = destination = in_the_way = 0
    complete = True
    for done in rounds:
        deletions += done.deletions
        source += done.in_scope.entries
        destination += done.destination.entries
        complete = complete and done.complete
        in_the_way += done.in_the_way.entries if request.replaces_kinds else 0
    extra = sum((Count(one.shard.entries, one.shard.bytes) for one in deletions), Count())
    found = Scope(source, destination, extra.entries + in_the_way, complete, filtered=not request.filters.take_all)
    return ListedExtras(deletions, extra, found)


def deleted_files(ledger: Ledger) -> list[Deletion]:
    """The shards of files and objects that a sync deletes, as DeleteShards reads them. Raises ``LedgerBroken``."""
    return ledger.read(keys.DELETIONS)


def deleted_directories(ledger: Ledger) -> list[Deletion]:
    """The shards of directories that a sync removes. Raises ``LedgerBroken``."""
    return ledger.read(DELETED_DIRECTORIES).deletions


def ledger_of_deletion(ledger: Ledger) -> Ledger:
    """The ledger that holds what a run deletes: of a move that of its comparison."""
    return ledger.verification() if ledger.read_plan().moves else ledger


def deletion_results(ledger: Ledger, absent: Absent) -> ShardResult:
    """The result of all shards to delete; an entry without an outcome is ``absent``. Nothing if no deletion began."""
    ledger = ledger_of_deletion(ledger)
    return total_of(shard_result(shard, ledger, absent) for shard in deletion_shards(ledger))


def not_moved(plan: Plan, deleted: ShardResult, proven: Count | None) -> RunError | None:
    """The error of a move that found so much equal and has no outcome of the deletion of all of it."""
    if not plan.moves or sum(deleted.results.values(), Count()) == proven:
        return None
    return RunError(INFRASTRUCTURE, "all is copied and proven, and not all of it was deleted at the source: retry")


def not_removed(ledger: Ledger) -> RunError | None:
    """The error of a run that began a deletion which RemoveDirectories did not end."""
    ledger = ledger_of_deletion(ledger)
    if not ledger.has(DELETED_DIRECTORIES) or ledger.is_marked(DIRECTORIES_REMOVED):
        return None
    return RunError(INFRASTRUCTURE, "RemoveDirectories did not end what was to be deleted: retry")


def entries_that_stayed(ledger: Ledger) -> Iterator[Outcome]:
    """The outcomes of the entries that were to be deleted and were not, each once. Raises ``LedgerBroken``."""
    ledger = ledger_of_deletion(ledger)
    for shard in deletion_shards(ledger):
        yield from shard_outcomes(shard, ledger, set(Result) - {Result.DELETED})


def deleted_entries(ledger: Ledger) -> Iterator[Outcome]:
    """The outcomes of the entries that the run deleted, each once. Raises ``LedgerBroken``."""
    ledger = ledger_of_deletion(ledger)
    for shard in deletion_shards(ledger):
        for _, _, outcome in each_once(records(shard.id, ledger), ledger, {Result.DELETED}):
            yield outcome


def deletion_shards(ledger: Ledger) -> list[Shard]:
    """The shards to delete, of ``ledger_of_deletion``; none if no deletion began. Raises ``LedgerBroken``."""
    if not ledger.whole_run().has(keys.phase_key("delete")) and not ledger.has(keys.DELETIONS):
        return []
    shards = [one.shard for one in (*deleted_files(ledger), *deleted_directories(ledger))]
    if ledger.is_verification:
        return shards
    held = sum(shard.entries for shard in shards)
    extra = listed_extras(ledger, ledger.read_plan().request).extra.entries
    if held != extra and (held or not ledger.has(keys.note_key("delete"))):  # the note says why none was to go
        raise ledger.broken(keys.DELETIONS, f"and {DELETED_DIRECTORIES} hold {held} of {extra} entries to delete")
    return shards
