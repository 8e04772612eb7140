"""Where to cut what is left of a listing, given marks in it and what may lie between them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from msgspec import Struct

from fanout.domain.segments import Segment, after_subtree

# Chosen: the least entries that are worth a segment of their own: about a second of listing.
PIECE_ENTRIES = 5000.0
# Chosen: what a directory counts of which nothing else is known: it may be worth one.
DIRECTORY_ENTRIES = PIECE_ENTRIES


class Mark(Struct, frozen=True):
    """A path to cut at, and about how many entries lie between it and the next mark."""

    path: str
    entries: float


class Level(Struct, frozen=True):
    """What lies directly below ``directory`` after ``after``."""

    directory: str
    after: str = ""


def levels(segment: Segment) -> list[Level]:
    """The directories that the segment's begin lies in, innermost first, each with what follows the one inside it."""
    found = []
    after = segment.after
    directory = after[: after.rfind("/") + 1]
    while len(directory) > len(segment.prefix):
        found.append(Level(directory, after))
        after = after_subtree(directory)
        directory = directory[: directory.rfind("/", 0, -1) + 1]
    return [*found, Level(segment.prefix, after)]


class Marks:
    """Marks in a tree that is looked into level by level."""

    def __init__(self) -> None:
        self._entries: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, marks: Iterable[Mark]) -> None:
        """Take marks between entries."""
        for mark in marks:
            self._entries[mark.path] = max(mark.entries, self._entries.get(mark.path, 0.0))

    def add_directory(self, directory: str, entries: float = DIRECTORY_ENTRIES) -> None:
        """Take a mark before a directory (whose path ends in ``/``), which then is the first of its piece."""
        self.add([Mark(directory.removesuffix("/"), entries)])

    def looked_into(self, level: Level) -> None:
        """What a directory holds is marked by itself from now on."""
        if not level.after:
            self._entries[level.directory.removesuffix("/")] = 0.0

    def choose(self, ways: int) -> list[str]:
        """At most ``ways - 1`` of the marks, in order, that leave about as many entries between them.

        Fewer where the pieces would be smaller than ``PIECE_ENTRIES``.
        """
        share = max(PIECE_ENTRIES, sum(self._entries.values()) / max(1, ways))
        chosen: list[str] = []
        passed = 0.0
        for path in sorted(self._entries, key=os.fsencode):
            if path and len(chosen) < ways - 1 and passed >= share * (len(chosen) + 0.5):
                chosen.append(path)
            passed += self._entries[path]
        return chosen
