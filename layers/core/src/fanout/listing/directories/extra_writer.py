"""Writes the extra entries that one ListSegment finds at the destination, in deletion shards of bounded size."""

from __future__ import annotations

from collections.abc import Sequence

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.rows import entry_row
from fanout.listing.directories.extras import Extras
from fanout.listing.lookups import found_for_listing
from fanout.model.books import Count
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment
from fanout.model.shard import Deletion, Shard
from fanout.ports.tree import ReadTree
from fanout.request.request import Request, knows_extras
from fanout.work.context import Context


def lists_extras(request: Request) -> bool:
    """Whether the run needs to know what a sync would delete."""
    return request.course.lists_extras and knows_extras(request)


class ExtraWriter:
    """Collects extras. Directories get separate shards, because a directory is deleted only when it is empty."""

    def __init__(self, request: Request, segment: Segment, context: Context, source: ReadTree) -> None:
        self._segment, self._context, self._source = segment, context, source
        self._find = found_for_listing(source)
        self._on_files = not request.destination.is_keyed
        self._extras = Extras(self._at_source, segment, on_files=self._on_files)
        self._files: list[Entry] = []
        self._directories: list[Entry] = []
        self._shards: list[Deletion] = []

    def source_entry(self, path: str) -> None:
        """Take an entry of the source, in path order with the other end's."""
        self._take(self._extras.source_entry(path))

    def source_files(self, paths: Sequence[str]) -> None:
        """Take files of one directory, in path order, that both ends hold."""
        self._take(self._extras.source_files(paths))

    def destination_entry(self, entry: Entry) -> None:
        """Take an entry that only the destination holds."""
        self._take(self._extras.destination_entry(entry))

    def close(self, *, cut: bool) -> list[Deletion]:
        """Write what is held; returns a row for every shard."""
        self._take(self._extras.close(cut=cut))
        self._write(self._files, directories=False)
        self._write(self._directories, directories=True)
        return self._shards

    @property
    def in_the_way(self) -> Count:
        """Entries in whose place the source has another kind of entry."""
        return self._extras.in_the_way.count

    def _take(self, entries: list[Entry]) -> None:
        for entry in entries:
            directories = entry.kind is Kind.DIRECTORY and self._on_files
            held = self._directories if directories else self._files
            held.append(entry)
            if len(held) >= tuning.SHARD_ENTRIES:
                self._write(held, directories=directories)

    def _write(self, held: list[Entry], *, directories: bool) -> None:
        if not held:
            return
        shard_id = f"delete-{self._segment.id}-{self._context.nonce}-{len(self._shards):04d}"
        key = keys.deletion_key(shard_id)
        self._context.ledger.write_rows(key, map(entry_row, held))
        shard = Shard(shard_id, key, len(held), sum(entry.size for entry in held), 0.0)
        self._shards.append(Deletion(shard, directories))
        held.clear()

    def _at_source(self, path: str) -> bool:
        if not path.endswith("/"):
            return self._find(path) is not None
        return next(iter(self._source.list(Segment("", path))), None) is not None
