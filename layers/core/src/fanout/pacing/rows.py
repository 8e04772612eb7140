"""The documents of the pacing, and what the readings of a file system say for one decision."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState
from fanout.ledger.kind import ALONE, ObjectKind
from fanout.model.file_system import CREDITS, IO_LIMIT, METERED, PERIOD_SECONDS, Reading, Readings
from fanout.pacing.rule import LATE_SECONDS, Observed, Pacing, credits_left


class MountWork(Struct, frozen=True):
    """The load of the run on a file system: metered bytes, and the functions' rate for each unit of metered rate."""

    metered: float
    rate_per_metered: float


class PacingPlan(Struct, frozen=True):
    """pacing/begun.json: the functions at first, the work by mount, and when the copying begins, seconds since 1970.

    ``copied_by`` is when it has to end for ``limits.finish_by``; ``None`` without one, and in a window of hours.
    """

    functions: int
    mounts: dict[str, MountWork]
    began: float
    copied_by: float | None = None


# Not plan.json: what may write it can then be denied the plan of a run.
PACING_PLAN = ObjectKind("pacing/begun.json", PacingPlan, by=("PartitionShards", "PaceCopy"), wave=ALONE, sealed=False)


class DecidedFor(Struct, frozen=True):
    """The state of a file system at a decision; ``None`` where credits do not count, or nothing was known."""

    mount: str
    credits_bytes: float | None
    percent_io_limit: float | None
    metered_bytes_per_second: float | None


class PacingDecision(Struct, frozen=True):
    """A row of pacing/decisions: what was seen at a time (seconds since 1970), and what was set."""

    at: float
    running: int
    waiting: int
    throttled: int
    max_concurrency_before: int
    max_concurrency: int
    bytes_per_second: float | None
    moved_at: float
    reason: str
    file_systems: list[DecidedFor]


def seen_of(
    mount: str,
    state: FileSystemState,
    readings: Readings,
    now: float,
    metered_left: float,
    rate_per_metered: float,
    rate: float | None,
) -> Observed:
    """The state by the newest readings.

    ``rate`` is that of the functions, if any. Late I/O and use readings are ignored.
    """
    credits, io = _newest(readings, CREDITS), _newest(readings, IO_LIMIT, now)
    used = _newest(readings, METERED, now)
    return Observed(
        mount=mount,
        state=state,
        metered_left=metered_left,
        credits=None if credits is None else credits.value,
        credits_age=0.0 if credits is None else max(0.0, now - credits.at),
        io_percent=None if io is None else io.value,
        used=None if used is None else used.value / PERIOD_SECONDS,
        ours=None if rate is None else rate / rate_per_metered,
        rate_per_metered=rate_per_metered,
    )


def _newest(readings: Readings, name: str, now: float | None = None) -> Reading | None:
    """The newest reading; with ``now`` only one that is not late."""
    found: Sequence[Reading] = readings.get(name, ())
    newest = max(found, key=lambda reading: reading.at, default=None)
    return None if newest is None or (now is not None and now - newest.at > LATE_SECONDS) else newest


def decision(
    now: float, before: Pacing, after: Pacing, seen: Sequence[Observed], running: int, waiting: int, throttled: int
) -> PacingDecision:
    """A decision: the state seen, and the pace set."""
    return PacingDecision(
        at=round(now, 3),
        running=running,
        waiting=waiting,
        throttled=throttled,
        max_concurrency_before=before.concurrency,
        max_concurrency=after.concurrency,
        bytes_per_second=after.bytes_per_second,
        moved_at=after.moved_at,
        reason=after.reason,
        file_systems=[
            DecidedFor(
                one.mount,
                None if one.state.credits_bytes is None else round(credits_left(one)),
                one.io_percent,
                one.used,
            )
            for one in seen
        ],
    )


def resumed(pacing: Pacing, last: PacingDecision | None) -> Pacing:
    """The pacing as the last decision left it; what the Map says of its concurrency counts."""
    if last is None:
        return pacing
    return replace(pacing, bytes_per_second=last.bytes_per_second, moved_at=last.moved_at, reason=last.reason)
