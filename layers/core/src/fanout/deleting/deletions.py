"""Reads the entries that a sync is to delete from the ledger of its listing."""

from __future__ import annotations

from msgspec import Struct

from fanout.deleting.guard import Scope, refusal
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.shard import Deletion
from fanout.request.request import Request
from fanout.shards.rounds import whole_listing


class Deletions(Struct, frozen=True):
    """deleted-directories.json: the shards of directories that a sync removes."""

    deletions: list[Deletion]


class ListedExtras(Struct, frozen=True):
    """The shards of extras, and what the guard needs to know of the listing."""

    deletions: list[Deletion]
    extra: Count
    found: Scope

    def refusal(self, request: Request) -> str:
        """Why a sync of this request may not delete them; empty if it may."""
        return refusal(self.found, request.delete_guard)


def listed_extras(ledger: Ledger, request: Request) -> ListedExtras:
    """The extras that all rounds of the listing found, and the counts of both ends in scope of the request."""
    deletions: list[Deletion] = []
    source = destination = 0
    complete = True
    for done in whole_listing(ledger):
        deletions += done.deletions
        source += done.in_scope.entries
        destination += done.destination.entries
        complete = complete and done.complete
    extra = sum((Count(one.shard.entries, one.shard.bytes) for one in deletions), Count())
    found = Scope(source, destination, extra.entries, complete, filtered=not request.filters.take_all)
    return ListedExtras(deletions, extra, found)


def deleted_files(ledger: Ledger) -> list[Deletion]:
    """The shards of files and objects that a sync deletes, as DeleteShards reads them. Raises ``LedgerBroken``."""
    return ledger.read_documents(keys.DELETIONS, Deletion)


def deleted_directories(ledger: Ledger) -> list[Deletion]:
    """The shards of directories that a sync removes. Raises ``LedgerBroken``."""
    return ledger.read(keys.DELETED_DIRECTORIES, Deletions).deletions
