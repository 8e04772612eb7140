"""How many files are how large, in buckets that double."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from fanout.model.books import Count
from fanout.model.entry import Entry, Kind

# Sizes below 2**64 bytes.
_BUCKETS = 65


class Sizes(Struct):
    """Files by size: bucket 0 holds empty ones, bucket n those of 2**(n-1) up to, not including, 2**n bytes.

    Two lists of numbers, because every entry of a listing passes here.
    """

    _entries: list[int] = field(default_factory=lambda: [0] * _BUCKETS)
    _bytes: list[int] = field(default_factory=lambda: [0] * _BUCKETS)

    def add(self, entry: Entry) -> None:
        """Count a file; directories, symlinks and special files have no size of their own."""
        if entry.kind is Kind.FILE:
            bucket = entry.size.bit_length()
            self._entries[bucket] += 1
            self._bytes[bucket] += entry.size

    def add_files(self, sizes: Sequence[int]) -> None:
        ordered, start = sorted(sizes), 0
        while start < len(ordered):
            bucket = ordered[start].bit_length()
            end = bisect_left(ordered, 1 << bucket, start)
            self._entries[bucket] += end - start
            self._bytes[bucket] += sum(ordered[start:end])
            start = end

    def merge(self, row: Mapping[str, list[int]]) -> None:
        for bucket, (entries, size) in row.items():
            self._entries[int(bucket)] += entries
            self._bytes[int(bucket)] += size

    @property
    def buckets(self) -> dict[int, Count]:
        """The buckets that hold a file, smallest first."""
        both = zip(self._entries, self._bytes, strict=True)
        return {bucket: Count(entries, size) for bucket, (entries, size) in enumerate(both) if entries}

    def row(self) -> dict[str, list[int]]:
        """Entries and bytes by bucket, as the ledger holds them."""
        return {str(bucket): [count.entries, count.bytes] for bucket, count in self.buckets.items()}


def groups_of(rows: Iterable[Mapping[str, list[int]]]) -> tuple[Count, ...]:
    """The files of such rows together, a group for each bucket."""
    sizes = Sizes()
    for row in rows:
        sizes.merge(row)
    return tuple(sizes.buckets.values())


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """The least size in bytes of a bucket, and the least one above it."""
    return (0, 1) if bucket == 0 else (1 << (bucket - 1), 1 << bucket)
