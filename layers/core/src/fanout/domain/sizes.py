"""How many files are how large, in buckets that double."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fanout.domain.books import Count
from fanout.domain.entries import Entry, Kind


@dataclass(slots=True)
class Sizes:
    """Files by size: bucket 0 holds empty ones, bucket n those of 2**(n-1) up to, not including, 2**n bytes."""

    buckets: dict[int, Count] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Count a file; directories, symlinks and special files have no size of their own."""
        if entry.kind is Kind.FILE:
            self._plus(entry.size.bit_length(), Count(1, entry.size))

    def merge(self, row: Mapping[str, list[int]]) -> None:
        """Add the row of other sizes."""
        for bucket, (entries, size) in row.items():
            self._plus(int(bucket), Count(entries, size))

    def row(self) -> dict[str, list[int]]:
        """Entries and bytes by bucket, as the ledger holds them."""
        return {str(bucket): [count.entries, count.bytes] for bucket, count in sorted(self.buckets.items())}

    def _plus(self, bucket: int, count: Count) -> None:
        self.buckets[bucket] = self.buckets.get(bucket, Count()) + count


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """The least size in bytes of a bucket, and the least one above it."""
    return (0, 1) if bucket == 0 else (1 << (bucket - 1), 1 << bucket)
