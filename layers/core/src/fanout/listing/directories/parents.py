"""Directories on the way down to the path that a listing is at: which were shown, implied, or look unchanged."""

from __future__ import annotations

from enum import Enum, auto

from fanout.model.entry import Entry, Kind
from fanout.model.path_rules import parent_of, parents_of
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
        self._inodes: dict[str, str] = {}
        self._last = ""

    def at_source(self, directory: str) -> None:
        self._known.add(directory)

    def at_destination(self, entry: Entry, *, counts: bool = True) -> None:
        """Take a directory of the destination; one that no run has finished counts as missing, and so without it."""
        if entry.kind is not Kind.DIRECTORY:
            return
        self._inodes = {path: one for path, one in self._inodes.items() if entry.path.startswith(path)}
        self._inodes[entry.path] = entry.inode
        if counts and entry.changed_ns:
            self._known = {one for one in self._known if entry.path.startswith(one)} | {entry.path}

    def inode_of(self, directory: str) -> str:
        """The inode of a directory above the current path that the destination's listing showed; empty for none."""
        return self._inodes.get(directory, "")

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


class ImpliedDirectories:
    """Tells directories that the source's keys imply from those that have nothing at the source, in path order.

    In a bucket a directory need not be an object: ``d/f`` is enough. Memory is bounded by the depth.
    """

    def __init__(self) -> None:
        self.noted: list[Entry] = []

    def add(self, directory: Entry) -> list[Entry]:
        """Note a directory that only the destination holds; returns those that proved to be extra."""
        extra = self._left_by(directory.path)
        self.noted.append(directory)
        return extra

    def source_entry(self, path: str) -> list[Entry]:
        """An entry of the source implies the directories above it; returns those that proved to be extra."""
        if not self.noted:
            return []
        extra = self._left_by(path)
        self.noted.clear()
        return extra

    def close(self) -> list[Entry]:
        """The directories that nothing implied until the end of the listing."""
        extra, self.noted = self.noted, []
        return extra

    def _left_by(self, path: str) -> list[Entry]:
        extra = [directory for directory in self.noted if not path.startswith(directory.path)]
        self.noted = [directory for directory in self.noted if path.startswith(directory.path)]
        return extra


class OpenDirectories:
    """The directories on the way down to the current path that look unchanged; call in path order.

    Writing an entry into a directory moves the directory's mtime. So a directory gets its attributes again if a
    direct child is written, whatever they were before.
    """

    def __init__(self) -> None:
        self._stack: list[Entry] = []

    def left_before(self, path: str) -> list[Entry]:
        """The directories that end before ``path``: nothing in them was written."""
        left = []
        while self._stack and not path.startswith(self._stack[-1].path):
            left.append(self._stack.pop())
        return left

    def enter(self, directory: Entry) -> None:
        """Keep a directory that looks unchanged, after ``left_before`` for its path."""
        self._stack.append(directory)

    def above(self, path: str) -> Entry | None:
        """The directory that ``path`` lies in directly, if it still looks unchanged."""
        return self._stack[-1] if self._stack and parent_of(path) == self._stack[-1].path else None

    def touched(self, path: str) -> Entry | None:
        """The directory that writing ``path`` changes; ``None`` after the first time."""
        return self._stack.pop() if self.above(path) else None

    def rest(self) -> list[Entry]:
        """The directories that the last path lies in."""
        left, self._stack = self._stack, []
        return left
