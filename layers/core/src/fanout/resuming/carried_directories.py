"""Directories of an earlier run that the run takes over, with what is at their places now.

Whoever replaced a directory since has the run look whether its copies are there: it goes by what it sees now.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import to_builtins
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment
from fanout.resuming import rules
from fanout.resuming.look_there import FindThere
from fanout.shards.made_directories import MadeDirectory, made_from_row
from fanout.shards.proven_places import ProvenPlaces
from fanout.work.context import Context


class DirectoryCarrier:
    """Those of a segment; ``look`` finds directories at the destination, ``None`` where that is a bucket."""

    def __init__(self, segment: Segment, context: Context, earlier: Ledger, look: FindThere | None) -> None:
        self._segment, self._context, self._earlier, self._look = segment, context, earlier, look
        self._proven = ProvenPlaces(earlier, carried=True)
        self._files = 0

    def placed_anew(self, entries: list[Entry]) -> list[Entry]:
        """The entries; directories of a mounted destination with what is in their places now."""
        if self._look is None:
            return entries
        there = self._there(entry.placed.path for entry in entries if entry.kind is Kind.DIRECTORY)
        pinned = [one.inode if (one := there.get(entry.placed.path)) else entry.replaces for entry in entries]
        return [replace(entry, replaces=one) for entry, one in zip(entries, pinned, strict=True)]

    def carry(self, part: rules.CarriedDirectories) -> str:
        """Write the rows of a file, and return its key: they are set again, because this run may write in them."""
        key = keys.carried_directories_key(self._segment.id, self._context.nonce, self._files)
        made = [one for one in self._earlier.read_rows_as(part.key, made_from_row, part.rows) if not one.place]
        there = self._there(one.path for one in made)
        closed = {one.path for one in made if one.implied and one.path in there and not there[one.path].changed_ns}
        own = self._proven.own(closed)
        self._context.ledger.write_rows(key, (to_builtins(_seen(one, there, own)) for one in made))
        self._files += 1
        return key

    def _there(self, paths: Iterable[str]) -> dict[str, Entry]:
        """The directories that a mounted destination holds at these paths."""
        found = self._look(paths) if self._look is not None else {}
        return {path: one for path, one in found.items() if one.kind is Kind.DIRECTORY}


def _seen(row: MadeDirectory, there: dict[str, Entry], own: dict[str, str]) -> MadeDirectory:
    """A row with what is there; one that the earlier run had for its own needs no proof by this one."""
    found = there.get(row.path)
    inode = found.inode if found is not None else ""
    return replace(row, inode=inode, listed=bool(inode) and own.get(row.path) != inode, carried=True)
