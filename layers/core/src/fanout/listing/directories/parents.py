"""Directories above entries that have no entry: keys imply them, and a manifest need not name them."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from enum import Enum, auto

from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment, within

DEFAULT_DIRECTORY_MODE = 0o755
# The mode of a new directory until it gets its own. The sticky bit has no effect if no other user may write. It tells
# such a directory from a private one: a stopped run leaves it, and the next run recognizes it.
UNFINISHED_MODE = stat.S_ISVTX | stat.S_IRWXU


def is_unfinished(mode: int) -> bool:
    """Whether a directory has the mode of a new one; a set-gid bit comes from the directory above."""
    return mode & 0o1777 == UNFINISHED_MODE


def mode_not_told(mode: int) -> int:
    """The mode of a directory at the destination that neither source nor request tells one, where it has ``mode`` now.

    A new one gets the default, with the set-gid bit that it has from above; another one keeps its own.
    """
    if is_unfinished(mode):
        return DEFAULT_DIRECTORY_MODE | mode & stat.S_ISGID
    return stat.S_IMODE(mode)


class Seen(Enum):
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

    def above(self, path: str) -> list[tuple[str, Seen]]:
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

    def _seen(self, directory: str) -> Seen:
        if directory in self._known:
            return Seen.KNOWN
        return Seen.IMPLIED if within(self._segment, directory) else Seen.UNKNOWN


def parent_of(path: str) -> str:
    """The directory that an entry lies in directly; empty for the root."""
    return path[: path.rfind("/", 0, -1) + 1]


def parents_of(path: str) -> Iterator[str]:
    """The directories above a path, topmost first, each with its ``/``."""
    end = path.find("/") + 1
    while 0 < end < len(path):
        yield path[:end]
        end = path.find("/", end) + 1


def mode_without_owner(mode: int | None) -> int:
    """The mode of a directory that the request leaves out, from its ``mode`` at the source: the default, or narrower.

    The function's user owns it, so its group gets only what both group and others have at the source.
    """
    if mode is None:
        return DEFAULT_DIRECTORY_MODE
    shared = mode >> 3 & mode & stat.S_IRWXO
    return DEFAULT_DIRECTORY_MODE & (stat.S_IRWXU | shared << 3 | shared)
