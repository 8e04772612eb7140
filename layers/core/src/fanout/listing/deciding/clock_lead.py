"""Computes how far a mount's clock is ahead of S3's, and the margin that this adds to comparing times."""

from __future__ import annotations

from msgspec import Struct

from fanout.ledger.kind import ALONE, ObjectKind

_SECOND_NS = 1_000_000_000

# The time that a store reported, as its earliest and latest possible value: a header holds whole seconds.
ClockReading = tuple[int, int]


class Ahead(Struct, frozen=True):
    """The destination's clock minus the source's: bounds from below and above, in nanoseconds."""

    least_ns: int
    most_ns: int


class Clocks(Struct, frozen=True):
    """clocks.json: how far the destination's clock is ahead of the source's, and of the functions'."""

    of_source: Ahead
    of_runs: Ahead


CLOCKS = ObjectKind("clocks.json", Clocks, by=("CheckMount",), wave=ALONE)


# No entry was written that much later than its source changed, so none counts as unchanged by its time.
UNKNOWN = Ahead(1, 10**18)
SAME = Ahead(0, 0)


def ahead_of(before: ClockReading, source: ClockReading, after: ClockReading) -> Ahead:
    """Bounds from three readings: two of the destination with one of the source between them."""
    return Ahead(before[0] - source[1], after[1] - source[0])


def wider_ns(ahead: Ahead) -> int:
    """Nanoseconds to add to the margin by which an entry must be written after the source changed.

    A destination's clock that is ahead gives entries too late a time, so the difference is added, in whole seconds.
    A clock that is behind only causes copies. A difference that may be zero counts as zero.
    """
    return -(-ahead.most_ns // _SECOND_NS) * _SECOND_NS if ahead.least_ns > 0 else 0


def clocks_note(ahead: Ahead) -> str:
    """The summary's note on clocks that differ by over a second; empty otherwise."""
    differ, where = (ahead.least_ns, "ahead of") if ahead.least_ns > 0 else (-ahead.most_ns, "behind")
    if differ <= _SECOND_NS:
        return ""
    seconds = f"the clock of the destination is {differ / _SECOND_NS:,.0f} s {where} that of S3"
    if where == "behind":
        return f"{seconds}: files that changed within this time before they were copied are copied again"
    return f"{seconds}: only what was written this much later than the source changed counts as unchanged"
