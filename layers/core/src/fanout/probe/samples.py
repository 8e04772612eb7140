"""From what the functions of a probe noted to medians and their spread."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import asdict

from fanout.efs.probe_result import Measured, Point
from fanout.ledger import probe_keys
from fanout.ledger.kind import ObjectKind

# Chosen: parts of the time in which all functions worked; each is a sample of what they did together.
SLICES = 8


class Timed(NamedTuple):
    """A file or block: its begin and end in seconds since 1970, and its bytes."""

    began: float
    ended: float
    bytes: int


class NoSamples(Struct, frozen=True):
    """The reason why a function could not measure."""

    reason: str
    message: str


class Samples(Struct):
    """The results of one member of a round, filled while it measures: values by point, or records of shared work.

    ``cold`` says whether it read only what others had written.
    """

    round: int
    member: int
    client: str
    bytes: int
    values: list[list[float]]
    why_not: list[str]
    records: list[Timed] = field(default_factory=list)
    cold: bool | None = None
    problem: NoSamples | None = None


samples_key = ObjectKind(probe_keys.SAMPLES + "{name}.json", Samples, by=("RunExperiment",))


def measured_of(functions: int, point: Point, values: Sequence[float]) -> Measured | None:
    """The spread of the samples of a point; ``None`` without any value."""
    if not values:
        return None
    lower, _, upper = quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    return Measured(
        functions,
        **asdict(point),
        median=median(values),
        lower_quartile=lower,
        upper_quartile=upper,
        least=min(values),
        most=max(values),
        samples=len(values),
    )


def rate_of(records: Sequence[Timed]) -> float | None:
    """Bytes a second from the first begin to the last end; ``None`` if nothing was moved, or in no time."""
    seconds = _seconds(records)
    size = sum(record.bytes for record in records)
    return size / seconds if size and seconds > 0 else None


def frequency_of(records: Sequence[Timed]) -> float | None:
    """Records a second, likewise."""
    seconds = _seconds(records)
    return len(records) / seconds if seconds > 0 else None


def _seconds(records: Sequence[Timed]) -> float:
    if not records:
        return 0.0
    return max(record.ended for record in records) - min(record.began for record in records)


def rates_together(members: Sequence[Sequence[Timed]], slices: int = SLICES) -> list[float]:
    """The joint rate of several functions, in bytes a second, for each part of the time in which all of them worked.

    A record's bytes count as moved evenly from its begin to its end. Empty if one did nothing, or they never worked
    at the same time.
    """
    if not members or not all(members):
        return []
    begin = max(min(record.began for record in records) for records in members)
    end = min(max(record.ended for record in records) for records in members)
    if end <= begin:
        return []
    width = (end - begin) / slices
    every = [record for records in members for record in records]
    return [_moved(every, begin + k * width, begin + (k + 1) * width) / width for k in range(slices)]


def _moved(records: Sequence[Timed], begin: float, end: float) -> float:
    """Bytes that were moved between two times."""
    moved = 0.0
    for record in records:
        inside = min(end, record.ended) - max(begin, record.began)
        if inside > 0:
            moved += record.bytes * inside / (record.ended - record.began)
    return moved
