"""The decisions of the pacing as rows of the ledger, and what the readings of a file system say for one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from fanout.efs.measurement import CREDITS, IO_LIMIT, METERED, PERIOD_SECONDS
from fanout.efs.model import FileSystemState
from fanout.model.document import Json
from fanout.model.file_system import Reading, Readings
from fanout.pacing.rule import LATE_SECONDS, Pacing, Seen, credits_left


def seen_of(
    mount: str,
    state: FileSystemState,
    readings: Readings,
    now: float,
    metered_left: float,
    rate_per_metered: float,
    rate: float | None,
) -> Seen:
    """What the readings say now; ``rate`` is the one that functions have kept to, if any. Late ones say nothing."""
    credits, io = _newest(readings, CREDITS), _newest(readings, IO_LIMIT, now)
    used = _newest(readings, METERED, now)
    return Seen(
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


def decision_row(
    now: float, before: Pacing, after: Pacing, seen: Sequence[Seen], running: int, waiting: int, throttled: int
) -> Json:
    """One decision: what was seen, and what was set."""
    return {
        "at": round(now, 3),
        "running": running,
        "waiting": waiting,
        "throttled": throttled,
        "max_concurrency_before": before.concurrency,
        "max_concurrency": after.concurrency,
        "bytes_per_second": after.bytes_per_second,
        "moved_at": after.moved_at,
        "reason": after.reason,
        "file_systems": [
            {
                "mount": one.mount,
                "credits_bytes": None if one.state.credits_bytes is None else round(credits_left(one)),
                "percent_io_limit": one.io_percent,
                "metered_bytes_per_second": one.used,
            }
            for one in seen
        ],
    }


def resumed(pacing: Pacing, row: Json | None) -> Pacing:
    """The pacing as the last decision left it; what the Map says of its concurrency counts."""
    if row is None:
        return pacing
    return replace(pacing, bytes_per_second=row["bytes_per_second"], moved_at=row["moved_at"], reason=row["reason"])
