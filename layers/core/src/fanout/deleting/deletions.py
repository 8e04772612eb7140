"""What a sync is to delete, from the ledger of its listing."""

from __future__ import annotations

from msgspec import Struct

from fanout.deleting.guard import Found, refusal
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import count_from_row, shard_from_row, shard_row
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.request.request import Request
from fanout.shards.rounds import whole_listing


class Deletion(Struct, frozen=True):
    """A shard of extras, either of files and objects, or of directories."""

    shard: Shard
    directories: bool


class ListedExtras(Struct, frozen=True):
    """The shards of extras, and what the guard needs to know of the listing."""

    deletions: list[Deletion]
    extra: Count
    found: Found

    def refusal(self, request: Request) -> str:
        """Why a sync of this request may not delete them; empty if it may."""
        return refusal(self.found, request.delete_guard)


def listed_extras(ledger: Ledger, request: Request) -> ListedExtras:
    """What all rounds of the listing found to be extra, and what of both ends is in scope of the request."""
    deletions: list[Deletion] = []
    source = destination = 0
    complete = True
    for done in whole_listing(ledger):
        deletions += [deletion_from_row(row) for row in done["deletions"]]
        source += count_from_row(done["in_scope"] if "in_scope" in done else done["listed"]).entries
        destination += count_from_row(done["destination"]).entries
        complete = complete and done["complete"]
    extra = sum((Count(one.shard.entries, one.shard.bytes) for one in deletions), Count())
    found = Found(source, destination, extra.entries, complete, filtered=not request.filters.take_all)
    return ListedExtras(deletions, extra, found)


def deletion_row(deletion: Deletion) -> Json:
    """A shard of extras, as it stands in deletions.json."""
    return {"shard": shard_row(deletion.shard), "directories": deletion.directories}


def deletion_from_row(row: Json) -> Deletion:
    """The shard of a row."""
    return Deletion(shard_from_row(row["shard"]), row["directories"])
