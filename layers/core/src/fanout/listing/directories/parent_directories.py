"""Directories above entries that get their mode at the end although they have no entry.

A directory is made closed, and FinishTree gives it the mode of its entry. Keys imply directories without an entry, and
a manifest need not name the directories above its entries. Their rows are written during the listing, before any is
made, so that a function that ends early does not lose them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache

from msgspec import to_builtins

from fanout.ledger import keys
from fanout.listing.directories.parents import SeenParents, Shown
from fanout.listing.lookups import found_for_listing
from fanout.listing.naming.placement import Find
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.path_rules import is_unfinished, mode_without_owner, parents_of
from fanout.model.segment import Segment
from fanout.ports.tree import ReadTree
from fanout.request.options import OnConflict
from fanout.request.plan import Plan
from fanout.shards.made_directories import MadeDirectory
from fanout.work.context import Context

_ROWS_PER_FILE = 50_000
# Cached lookups of directories, for entries that do not come in listing order.
_KEPT = 10_000


def may_be_left_out(plan: Plan, segment: Segment) -> bool:
    """Whether the run may make directories without an entry; a resumed run carries over their rows."""
    request = plan.request
    made = request.course.writes and not request.destination.is_keyed and not segment.carried
    return made and (request.manifest is not None or request.source.is_keyed)


class ParentDirectories:
    """Collects the directories above a segment's entries that are not entries and not right at the destination.

    With ``attributes.override`` each that keys imply, because no listing tells whether it has what the request gives.
    """

    def __init__(self, plan: Plan, segment: Segment, context: Context, source: ReadTree, find_there: Find) -> None:
        self._segment, self._context = segment, context
        self._source, self._find = source, found_for_listing(source)
        self._find_there = find_there
        keeps_names = plan.request.on_conflict in (OnConflict.FAIL, OnConflict.SKIP)
        ordered = keeps_names and segment.manifest is None
        self._seen = SeenParents(segment) if ordered else None
        given = plan.request.attributes
        self._given = given.of_implied_directory
        self._repairs = given.override and self._given is not None and plan.request.source.is_keyed
        self._overrides = given.override and bool(given.directory_mode)
        self._look_up = lru_cache(_KEPT)(self._looked_up)
        self._rows: list[Json] = []
        self._files: list[str] = []

    def seen_there(self, entry: Entry) -> None:
        """Take an entry of the destination's listing; a finished directory counts only where none is repaired."""
        if self._seen is not None:
            self._seen.at_destination(entry, counts=not self._repairs)

    def add(self, path: str, target: str = "", *, is_directory: bool = False) -> None:
        """Take an entry of the source that is copied or unchanged, with its place if that is another path."""
        if self._seen is None:
            for there, here in _pairs(target or path, path):
                self._look_up(there, here)
            return
        for parent, seen in self._seen.above(path):
            if seen is Shown.IMPLIED:
                self._note(parent, None, self._seen.inode_of(parent))
            elif seen is Shown.UNKNOWN:
                self._look_up(parent, parent)
        if is_directory:
            self._seen.at_source(path)

    def _looked_up(self, there: str, here: str) -> None:
        """Note a directory at ``there``, which may not exist yet, with its counterpart ``here``, if any."""
        found = self._find_there(there)
        is_finished = found is not None and found.changed_ns
        if is_finished and not (self._repairs and self._is_implied(here)):
            return
        mode = None if self._overrides else self._mode_at_source(here)
        if mode is None or not is_unfinished(mode):  # else it is right already, and may be an entry elsewhere
            self._note(there, mode, found.inode if found is not None and found.kind is Kind.DIRECTORY else "")

    def _is_implied(self, path: str) -> bool:
        found = self._find(path) if path else None
        return found is None or found.kind is not Kind.DIRECTORY

    def _mode_at_source(self, path: str) -> int | None:
        found = self._find(path) if path else None
        if found is None or found.kind is not Kind.DIRECTORY:
            return None
        try:
            with closing(self._source.open(found)) as opened:
                return opened.attributes.mode
        except ItemError:
            return 0  # it changes, so it stays closed

    def _note(self, path: str, mode: int | None, inode: str) -> None:
        """Note a directory with its mode at the source; ``None`` where that has no say. ``inode`` is what is there."""
        made = MadeDirectory(path, mode_without_owner(mode), implied=True, inode=inode, listed=bool(inode))
        if mode is None and self._given is not None:
            given = self._given
            made = MadeDirectory(path, given.mode, given.uid, given.gid, may_lack=True, inode=inode, listed=bool(inode))
        self._rows.append(to_builtins(made))
        if len(self._rows) >= _ROWS_PER_FILE:
            self._write()

    def _write(self) -> None:
        key = keys.parents_key(self._segment.id, self._context.nonce, len(self._files))
        self._context.ledger.write_rows(key, self._rows)
        self._files.append(key)
        self._rows = []

    def close(self) -> list[str]:
        """Write what is held; returns the files."""
        if self._rows:
            self._write()
        return self._files


def _pairs(there: str, here: str) -> Iterator[tuple[str, str]]:
    """The directories above an entry at the destination, each with that of the source; none where they differ."""
    above, same = list(parents_of(there)), list(parents_of(here))
    yield from zip(above, same if len(same) == len(above) else [""] * len(above), strict=True)
