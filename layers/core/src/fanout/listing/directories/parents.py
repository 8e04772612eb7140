"""Directories above entries that have no entry: how the listings of both ends showed them."""

from __future__ import annotations

from enum import Enum, auto

from fanout.model.directories import parent_of, parents_of
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment, within


class Shown(Enum):
    """How the listings of both ends showed a directory."""

    IMPLIED = auto()  # no entry of the source; missing or unfinished at the destination
    KNOWN = auto()  # an entry of the source; or finished at the destination
    UNKNOWN = auto()  # sorts before the segment


class SeenParents:
    """Reports each directory above the entries of a segment once; call in path order, the destination first.

    Memory is bounded by the depth.
    """

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        # Directories above the current path, by path, and whether each was reported.
        self._known: set[str] = set()
        self._told: set[str] = set()
        self._last = ""

    def at_source(self, directory: str) -> None:
        """Take a directory that is an entry of the source."""
        self._known.add(directory)

    def at_destination(self, entry: Entry) -> None:
        """Take an entry of the destination."""
        if entry.kind is Kind.DIRECTORY and entry.changed_ns:  # otherwise no run has finished it
            self._known = {one for one in self._known if entry.path.startswith(one)} | {entry.path}

    def above(self, path: str) -> list[tuple[str, Shown]]:
        """The directories above an entry, topmost first, that were not reported yet."""
        last = parent_of(path)
        if last == self._last:
            return []
        self._last = last
        above = list(parents_of(path))
        self._known &= {*above, path}
        self._told &= {*above}
        new = [one for one in above if one not in self._told]
        self._told |= {*new}
        return [(one, self._seen(one)) for one in new]

    def _seen(self, directory: str) -> Shown:
        if directory in self._known:
            return Shown.KNOWN
        return Shown.IMPLIED if within(self._segment, directory) else Shown.UNKNOWN
