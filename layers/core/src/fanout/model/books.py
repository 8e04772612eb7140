"""The books of a run: entries and bytes by outcome, and whether they balance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE, Result


class Count(Struct, frozen=True):
    """A number of entries and of their bytes."""

    entries: int = 0
    bytes: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.entries + other.entries, self.bytes + other.bytes)

    def __sub__(self, other: Count) -> Count:
        return Count(self.entries - other.entries, self.bytes - other.bytes)


class Tally(Struct):
    """A count that grows; ``Count`` makes a new value for each entry, which takes a microsecond more."""

    entries: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """Count one entry of so many bytes."""
        self.entries += 1
        self.bytes += size

    def add_all(self, entries: int, size: int) -> None:
        """Count entries of so many bytes together."""
        self.entries += entries
        self.bytes += size

    @property
    def count(self) -> Count:
        return Count(self.entries, self.bytes)


def no_counts() -> dict[Result, Count]:
    """A zero for every outcome."""
    return {result: Count() for result in Result}


class Books(Struct, frozen=True):
    """The entries listed at the source, and their outcomes."""

    listed: Count = Count()
    by_result: Mapping[Result, Count] = field(default_factory=no_counts)

    def plus(self, listed: Count, results: Mapping[Result, Count]) -> Books:
        merged = {result: self.by_result[result] + results.get(result, Count()) for result in Result}
        return Books(self.listed + listed, merged)

    @property
    def missing(self) -> Count:
        """Listed less all outcomes of listed entries; deletions are not of the source. Zero if the books balance."""
        accounted = sum(
            (count for result, count in self.by_result.items() if result is not Result.DELETED),
            Count(),
        )
        return self.listed - accounted

    @property
    def balanced(self) -> bool:
        """Whether listed = copied + unchanged + skipped + failed + rejected, in entries and bytes."""
        return self.missing == Count()

    @property
    def clean(self) -> bool:
        """Whether no entry failed or was rejected."""
        return not any(self.by_result[result].entries for result in TROUBLE)


def tally(outcomes: Iterable[Outcome]) -> dict[Result, Count]:
    """Entries and bytes by outcome."""
    counts = {result: Tally() for result in Result}
    for outcome in outcomes:
        counts[outcome.result].add(outcome.size)
    return {result: found.count for result, found in counts.items()}
