"""Which entries of a shard have an outcome, as ranges of their indexes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

Range = tuple[int, int]


def ranges_of(indexes: Iterable[int]) -> list[Range]:
    """Sorted, disjoint half-open ranges that hold just these indexes."""
    ranges: list[Range] = []
    for index in sorted(set(indexes)):
        if ranges and ranges[-1][1] == index:
            ranges[-1] = (ranges[-1][0], index + 1)
        else:
            ranges.append((index, index + 1))
    return ranges


def indexes_of(ranges: Iterable[Range]) -> set[int]:
    """The indexes that the ranges hold."""
    return {index for first, end in ranges for index in range(first, end)}


def disjoint(groups: Iterable[list[Range]]) -> bool:
    """Whether no index is in two of the groups."""
    ordered = sorted(one for group in groups for one in group)
    return all(before[1] <= after[0] for before, after in pairwise(ordered))
