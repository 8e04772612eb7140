"""Chooses where to cut the rest of a listing, from known paths and estimates of the entries between them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from zlib import crc32

from msgspec import Struct

from fanout.model.segment import Segment, after_subtree

# Chosen: the fewest entries worth a segment of their own: about a second of listing.
PIECE_ENTRIES = 5000.0
# Chosen: the estimate for a directory of unknown size; it may be worth a segment.
DIRECTORY_ENTRIES = PIECE_ENTRIES
# Chosen: so many small directories show that their siblings are small too.
_TELL_OF_OTHERS = 32


class Mark(Struct, frozen=True):
    """A path to cut at, and the estimated number of entries between it and the next mark."""

    path: str
    entries: float


class Level(Struct, frozen=True):
    """The part of ``directory`` directly below it that sorts after ``after``."""

    directory: str
    after: str = ""


def levels(segment: Segment) -> list[Level]:
    """The directories above the segment's begin, innermost first, each with the position to continue from."""
    found = []
    after = segment.after
    directory = after[: after.rfind("/") + 1]
    while len(directory) > len(segment.prefix):
        found.append(Level(directory, after))
        after = after_subtree(directory)
        directory = directory[: directory.rfind("/", 0, -1) + 1]
    return [*found, Level(segment.prefix, after)]


class Contents(Struct, frozen=True):
    """A directory's contents: marks between its files or keys, and its direct subdirectories.

    If there are very many names, only a part is read; each directory then ``stands_for`` several.
    """

    marks: Sequence[Mark]
    directories: Sequence[str] = ()
    stands_for: float = 1.0


def even_cuts(marks: Iterable[Mark], ways: int) -> list[str]:
    """Return at most ``ways - 1`` of the marks, in order, with about as many entries between each two.

    Returns fewer if pieces would be smaller than ``PIECE_ENTRIES``, or less than half the size of the others.
    """
    entries: dict[str, float] = {}
    for mark in marks:
        entries[mark.path] = max(mark.entries, entries.get(mark.path, 0.0))
    share = _share(sum(entries.values()), ways)
    chosen: list[str] = []
    passed = last = 0.0
    for path in sorted(entries, key=os.fsencode):
        nearest = passed + entries[path] / 2 >= share * (len(chosen) + 1)
        if path and nearest and passed - last >= share / 2 and len(chosen) < ways - 1:
            chosen.append(path)
            last = passed
        passed += entries[path]
    return chosen


def _share(entries: float, ways: int) -> float:
    return max(PIECE_ENTRIES, entries / max(1, ways))


class _LookedInto:
    """A directory that was looked into; ``guess`` is the estimate for each subdirectory that was not."""

    def __init__(self, level: Level, contents: Contents) -> None:
        self.level, self.contents = level, contents
        self.depth = level.directory.count("/")
        # The next one is the last; this order is unrelated to sizes.
        self.others = sorted(contents.directories, key=lambda one: crc32(os.fsencode(one)))
        self.below: list[_LookedInto] = []
        self.entries = sum(mark.entries for mark in contents.marks)
        self.total = self.guess = 0.0

    def count(self, of_depth: Mapping[int, float]) -> None:
        """Set ``total`` and ``guess``; ``of_depth`` is the mean size of directories at each deeper level."""
        found = [one.total for one in self.below]
        mean = sum(found) / len(found) if found else of_depth.get(self.depth + 1, DIRECTORY_ENTRIES)
        if len(found) < _TELL_OF_OTHERS:
            mean = max(mean, DIRECTORY_ENTRIES)
        self.guess = mean * self.contents.stands_for
        self.total = self.entries + sum(found) + self.guess * len(self.others)

    def marks(self) -> Iterator[Mark]:
        """Yield a mark before each directory, so that the directory comes first in its piece."""
        yield from self.contents.marks
        yield from (Mark(one.removesuffix("/"), self.guess) for one in self.others)
        yield from (Mark(one.level.directory.removesuffix("/"), 0.0) for one in self.below)


class Survey:
    """Chooses the directories of a segment to look into, so that it can be cut into ``ways`` pieces of like size.

    A directory not looked into is estimated by its siblings, or else by directories of the same depth. While few
    are known, the estimate is ``DIRECTORY_ENTRIES``. A directory that may hold over half a piece is looked into.
    """

    def __init__(self, segment: Segment, ways: int) -> None:
        self._ways = ways
        self._first = levels(segment)
        self._looked: list[_LookedInto] = []
        self._parents: dict[str, _LookedInto] = {}

    def next(self, most: int) -> list[Level]:
        """Return at most ``most`` directories to look into, the largest first; none once the pieces are even."""
        if self._first:
            found, self._first = self._first[:most], self._first[most:]
            return found
        self._count()
        enough = _share(sum(one.total for one in self._tops()), self._ways) / 2
        result: list[Level] = []
        for one in sorted(self._looked, key=lambda one: -one.guess):
            while one.guess > enough and one.others and len(result) < most:
                directory = one.others.pop()
                self._parents[directory] = one
                result.append(Level(directory))
        return result

    def add(self, level: Level, contents: Contents) -> None:
        """Take the contents of a directory; empty contents if it cannot be read."""
        looked = _LookedInto(level, contents)
        self._looked.append(looked)
        above = self._parents.get(level.directory)
        if above is not None and not level.after:
            above.below.append(looked)

    def cuts(self) -> list[str]:
        """The paths to cut at, evenly by what the looks found."""
        self._count()
        return even_cuts((mark for one in self._looked for mark in one.marks()), self._ways)

    def _tops(self) -> list[_LookedInto]:
        return [one for one in self._looked if one.level.directory not in self._parents]

    def _count(self) -> None:
        of_depth: dict[int, float] = {}
        by_depth = sorted(self._looked, key=lambda one: -one.depth)
        for depth, group in groupby(by_depth, key=lambda one: one.depth):
            together = list(group)
            for one in together:
                one.count(of_depth)
            whole = [one.total for one in together if not one.level.after]
            if whole:
                of_depth[depth] = sum(whole) / len(whole)
