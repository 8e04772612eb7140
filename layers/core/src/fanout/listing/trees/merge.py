"""Source and destination listed together: a merge of two sorted streams."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import compress, count
from operator import ne

from fanout.model.columns import FileColumns, Listed, first_path
from fanout.model.entry import Entry

BothEnds = tuple[Entry | None, Entry | None]
# Files in columns: of both ends under the same names, or of the source where the destination lacks all of them.
Columns = tuple[FileColumns, FileColumns | None]


def merge(source: Iterator[Entry], destination: Iterator[Entry]) -> Iterator[BothEnds]:
    """Pairs of (source, destination) with the same path, in path order; ``None`` where one end lacks it.

    Both streams must be sorted by ``sort_key``; one entry of each is held.
    """
    left, right = next(source, None), next(destination, None)
    while left is not None or right is not None:
        if left is not None and right is not None and left.path == right.path:
            yield left, right
            left, right = next(source, None), next(destination, None)
        elif right is None or (left is not None and left.sort_key < right.sort_key):
            yield left, None
            left = next(source, None)
        else:
            yield None, right
            right = next(destination, None)


# Where columns do not agree for so many of their files, these are merged one by one before columns are tried again:
# taking some from columns costs a copy of the rest.
_APART = 16


def merge_columns(source: Iterator[Listed], destination: Iterator[Listed]) -> Iterator[BothEnds | Columns]:
    """``merge`` for listings with files in columns, which stay together where they can: see ``Columns``."""
    left, right = _Stream(source), _Stream(destination)
    one, two = left.following(), right.following()
    while one is not None or two is not None:
        if isinstance(one, FileColumns) and isinstance(two, FileColumns) and one.directory == two.directory:
            length = len(one) if one.names == two.names else common_length(one.names, two.names)
            if length:
                yield left.begin(one, length), right.begin(two, length)
                one, two = left.following(), right.following()
                continue
        if isinstance(one, FileColumns) and (length := _before(one, two)) >= min(_APART, len(one)):
            yield left.begin(one, length), None
            one = left.following()
            continue
        if isinstance(one, FileColumns) and isinstance(two, Entry) and _is_after(one, two):
            yield None, two
            two = right.following()
            continue
        if isinstance(two, FileColumns) and isinstance(one, Entry) and _is_after(two, one):
            yield one, None
            one = left.following()
            continue
        one, two = left.apart(one), right.apart(two)
        if one is not None and two is not None and one.path == two.path:
            yield one, two
            one, two = left.following(), right.following()
        elif two is None or (one is not None and one.sort_key < two.sort_key):
            yield one, None
            one = left.following()
        else:
            yield None, two
            two = right.following()


def _before(columns: FileColumns, other: Listed | None) -> int:
    """How many of the files come before the other listing's next entry."""
    if other is None:
        return len(columns)
    key = os.fsencode(first_path(other))
    return bisect_left(columns.names, key, key=lambda name: os.fsencode(columns.directory + name))


def _is_after(columns: FileColumns, entry: Entry) -> bool:
    return os.fsencode(first_path(columns)) > entry.sort_key


class _Stream:
    """The rest of one listing."""

    def __init__(self, listed: Iterator[Listed]) -> None:
        self._listed = listed
        # The next one is the last.
        self._held: list[Listed] = []

    def following(self) -> Listed | None:
        return self._held.pop() if self._held else next(self._listed, None)

    def begin(self, columns: FileColumns, length: int) -> FileColumns:
        """The first files; the others come next."""
        if length == len(columns):
            return columns
        self._held.append(columns.part(length))
        return columns.part(0, length)

    def apart(self, listed: Listed | None) -> Entry | None:
        """The entry, or the first of columns; those after it come next."""
        if not isinstance(listed, FileColumns):
            return listed
        entries = self.begin(listed, min(_APART, len(listed))).entries()
        self._held += reversed(entries)
        first = self._held.pop()
        assert isinstance(first, Entry)
        return first


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of names that both begin with."""
    return next(compress(count(), map(ne, one, other)), min(len(one), len(other)))
