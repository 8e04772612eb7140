"""Derives the state that a plan uses from EFS and CloudWatch; assumptions for missing values spare the file system.

| metric              | there, up to 15 min old       | older                                | missing                |
|---------------------|-------------------------------|--------------------------------------|------------------------|
| BurstCreditBalance  | the newest value              | less what bursting since then spends | 0                      |
| PermittedThroughput | the newest, not over its mode | as missing                           | published figure;      |
|                     |                               |                                      | baseline if no credits |
| PercentIOLimit      | the highest of the 15 min     | as missing                           | half is others'        |
| MeteredIOBytes      | the highest minute of them    | as missing                           | half is others'        |

BurstCreditBalance counts in the mode Bursting alone.
"""

from __future__ import annotations

from fanout.efs.capacity import FileSystemState, baseline, burst, published
from fanout.model.file_system import (
    CREDITS,
    IO_LIMIT,
    METERED,
    PERIOD_SECONDS,
    PERMITTED,
    Described,
    Reading,
    Readings,
    ThroughputMode,
)

# Chosen: what is older does not say what the file system does now.
LATE_SECONDS = 15 * 60
# Chosen: the part of a limit that others are taken to use where no metric says it.
ASSUMED_OTHERS = 0.5


def state_of(described: Described, readings: Readings, now: float) -> FileSystemState:
    """The state, by the table above."""
    notes: list[str] = []
    credits = _credits(described, readings, now, notes)
    permitted = _permitted(described, readings, now, credits, notes)
    return FileSystemState(
        mode=described.mode,
        permitted_bytes_per_second=permitted,
        one_zone=described.one_zone,
        performance_mode=described.performance_mode,
        standard_bytes=described.standard_bytes,
        stored_bytes=described.standard_bytes + described.infrequent_bytes + described.archive_bytes,
        others_bytes_per_second=_others(readings, now, permitted, notes),
        others_iops_share=_io_share(readings, now, notes),
        credits_bytes=credits,
        assumptions=tuple(notes),
    )


def _newest(readings: Readings, name: str) -> Reading | None:
    return max(readings.get(name, ()), key=lambda reading: reading.at, default=None)


def _recent(readings: Readings, name: str, now: float) -> list[float]:
    return [reading.value for reading in readings.get(name, ()) if now - reading.at <= LATE_SECONDS]


def _credits(described: Described, readings: Readings, now: float, notes: list[str]) -> float | None:
    if described.mode is not ThroughputMode.BURSTING:
        return None
    newest = _newest(readings, CREDITS)
    if newest is None:
        notes.append(f"{CREDITS} is missing: no credits are assumed")
        return 0.0
    age = now - newest.at
    if age <= LATE_SECONDS:
        return newest.value
    notes.append(f"{CREDITS} is {age / 60:.0f} min old: what bursting since then spends is taken off")
    spent = (burst(described.standard_bytes) - baseline(described.standard_bytes)) * age
    return max(0.0, newest.value - spent)


def _permitted(described: Described, readings: Readings, now: float, credits: float | None, notes: list[str]) -> float:
    most = published(
        described.mode, described.standard_bytes, described.provisioned_bytes_per_second, described.one_zone
    )
    newest = _newest(readings, PERMITTED)
    if newest is not None and now - newest.at <= LATE_SECONDS and newest.value > 0:
        return min(newest.value, most)
    notes.append(f"{PERMITTED} is {'missing' if newest is None else 'late'}: the published figure is assumed")
    return baseline(described.standard_bytes) if credits == 0 else most


def _others(readings: Readings, now: float, permitted: float, notes: list[str]) -> float:
    recent = _recent(readings, METERED, now)
    if recent:
        return min(permitted, max(recent) / PERIOD_SECONDS)
    notes.append(f"{METERED} is missing or late: half of what is permitted is taken to be others'")
    return permitted * ASSUMED_OTHERS


def _io_share(readings: Readings, now: float, notes: list[str]) -> float:
    recent = _recent(readings, IO_LIMIT, now)
    if recent:
        return min(1.0, max(recent) / 100)
    notes.append(f"{IO_LIMIT} is missing or late: half of the limit is taken to be others'")
    return ASSUMED_OTHERS
