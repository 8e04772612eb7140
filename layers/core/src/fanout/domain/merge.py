"""Source and destination listed together: a merge of two sorted streams."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.domain.entries import Entry

Pair = tuple[Entry | None, Entry | None]


def merge(source: Iterator[Entry], destination: Iterator[Entry]) -> Iterator[Pair]:
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
