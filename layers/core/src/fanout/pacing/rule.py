"""Decides the concurrency of the Map and the rate of all functions, within the capacity of the file systems.

The rate (bytes a second of all functions together) protects burst credits. A working function cannot be stopped, and a
single one uses more than a small file system earns. The concurrency follows the rate and PercentIOLimit:

| seen                                                  | the concurrency                                   |
|-------------------------------------------------------|---------------------------------------------------|
| functions report throttling                           | times ``DOWN``, at most once in ``SETTLE_SECONDS`` |
| PercentIOLimit at ``IO_HIGH`` or more                 | times ``DOWN``, at most once in ``SETTLE_SECONDS`` |
| PercentIOLimit or MeteredIOBytes late or missing      | not over the plan's                               |
| one of them at ``IO_ROOM``, ``USE_ROOM`` or more      | stays                                             |
| none of these, and no change for ``SETTLE_SECONDS``   | times ``UP``, up to what the request allows       |
| a rate                                                | at most a function for each ``LEAST_SHARE_BYTES`` |
| in time for ``limits.finish_by``                      | stays where it would be times ``UP``              |
| ahead of it, also with fewer functions                | over ``UP``, down to the plan's                   |

Credits of a file system in the mode Bursting: the last metric, less what bursting would have spent since then.
The rate is the fastest constant one that keeps the reserve at the end. With nothing above the reserve, or without any
metric, it is the earned rate less the use of others. With less than ``LOW_SHARE`` of the most credits it is less in
proportion, because metrics show the use of others late. It is never below ``LEAST_RATE``. If others leave less than
that of the earned rate, the credits can run out, and the run continues.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, baseline, burst, kept_rate, most_credits, reserve_bytes
from fanout.facts.units import MIB
from fanout.work.rates.run_limits import functions_for

# Chosen. Percent of the limit of operations, and share of the permitted throughput.
IO_HIGH, IO_ROOM, USE_ROOM = 90.0, 75.0, 0.9
DOWN, UP = 0.6, 1.25
# Chosen: of the time that is left, what a copy that has to end by a time keeps to spare.
SPARE = 0.05
# Chosen: CloudWatch has a value a minute.
DECIDE_SECONDS = 60.0
# Chosen: seconds between two looks for the note of the end, in the first ``DECIDE_SECONDS`` of a task and later.
END_SECONDS, END_LATER_SECONDS = 1.0, 3.0
# Chosen: CloudWatch shows what a change did after three minutes or so; until then there is no other.
SETTLE_SECONDS = 300.0
# Chosen: what is older says nothing about now.
LATE_SECONDS = 10 * 60.0
# Chosen: below it a run would never end, and a file that is not divided would not fit in a function's time.
LEAST_RATE = 1.0 * MIB
# Chosen: the share of the time since the copy began that nobody paces after a task, and the least that is waited. Each
# task leaves events in a history of 25,000 (facts.aws.HISTORY_EVENTS); so an execution of a year has 21,000 of pacing.
REST_SHARE, LEAST_REST_SECONDS = 1 / 500, 300.0
# Chosen: of 100 GB it is what others at full baseline use in an hour and more; metrics are minutes late.
LOW_SHARE = 0.01


def rest_seconds(since_begin: float) -> float:
    """Seconds after a task in which the copy goes on at its last pace; 0 in the first two days."""
    rest = since_begin * REST_SHARE
    return rest if rest >= LEAST_REST_SECONDS else 0.0


class Observed(Struct, frozen=True):
    """The known state of a file system now.

    ``credits`` are bytes and ``credits_age`` seconds since they were measured, ``None`` where nothing was.
    ``io_percent`` and ``used`` (metered bytes a second of all) are of the newest minute, ``None`` if that is late.
    ``metered_left`` is what the run has yet to do to it; ``ours`` the most that the run can have used of ``used``.
    ``rate_per_metered`` turns a metered rate into the one that functions keep to: 3 where they read.
    """

    mount: str
    state: FileSystemState
    metered_left: float
    credits: float | None = None
    credits_age: float = 0.0
    io_percent: float | None = None
    used: float | None = None
    ours: float | None = None
    rate_per_metered: float = 1.0


class Pacing(Struct, frozen=True):
    """The pace to set: concurrent functions, and bytes a second of all together, ``None`` for no limit.

    ``moved_at`` is when the concurrency was last changed for what was seen, seconds since 1970.
    """

    concurrency: int
    bytes_per_second: float | None = None
    moved_at: float = 0.0
    reason: str = "as planned"


class ExpectedEnd(Struct, frozen=True):
    """The copy's end at its present speed, and when it has to end for ``limits.finish_by``; seconds since 1970."""

    ends: float
    copied_by: float

    def is_behind(self, now: float) -> bool:
        """Whether it ends too late, or with less than a little to spare."""
        return now + (self.ends - now) * (1 + SPARE) > self.copied_by

    def is_ahead(self, now: float) -> bool:
        """Whether it would end in time with fewer functions, too."""
        return now + (self.ends - now) * UP * (1 + 2 * SPARE) < self.copied_by


class PacingLimits(Struct, frozen=True):
    """The limits from request and plan: the most functions, those of the plan, the reserve, the request's rate."""

    most: int
    planned: int
    reserve_percent: float
    bytes_per_second: float | None = None


def decide(
    now: float,
    pacing: Pacing,
    seen: Sequence[Observed],
    throttled: int,
    limits: PacingLimits,
    expected: ExpectedEnd | None = None,
) -> Pacing:
    """The next pacing, by the table above; ``throttled`` functions were lately throttled.

    ``expected`` is the end of a run which has to end by a time, once it is known.
    """
    rate, why_rate = _rate(seen, limits.reserve_percent)
    concurrency, why = _concurrency(now, pacing, seen, throttled, limits)
    if expected is not None:
        concurrency, why = _in_time(now, pacing, concurrency, why, limits, expected)
    slowest = min((one for one in (rate, limits.bytes_per_second) if one is not None), default=None)
    useful = limits.most if slowest is None else functions_for(slowest)
    if concurrency > useful:
        concurrency, why = useful, why_rate if slowest == rate else "the rate of the request needs no more"
    moved_at = pacing.moved_at if concurrency == pacing.concurrency else now
    return Pacing(concurrency, rate, moved_at, why or why_rate or "nothing to change")


def credits_left(seen: Observed) -> float:
    """Credits at least, bytes: as if everything had burst since they were measured; 0 where they never were."""
    if seen.credits is None:
        return 0.0
    size = seen.state.standard_bytes
    return max(0.0, seen.credits - (burst(size) - baseline(size)) * seen.credits_age)


def credit_rate(seen: Observed, reserve_percent: float) -> float | None:
    """Metered bytes a second that keep the reserve; ``None`` where credits play no part."""
    if seen.state.credits_bytes is None:
        return None
    others = seen.state.others_bytes_per_second
    if seen.used is not None and seen.ours is not None:
        others = max(others, seen.used - seen.ours)
    left = credits_left(seen)
    state = replace(seen.state, others_bytes_per_second=others, credits_bytes=left, probed_bytes_per_second=None)
    rate = kept_rate(state, max(seen.metered_left, 1.0), reserve_bytes(state, reserve_percent))
    if seen.credits is not None:
        rate *= min(1.0, left / (LOW_SHARE * most_credits(seen.state.standard_bytes)))
    return max(rate, LEAST_RATE)


def _rate(seen: Sequence[Observed], reserve_percent: float) -> tuple[float | None, str]:
    """The slowest rate that a file system asks of the functions, and why."""
    rates = [
        (rate * one.rate_per_metered, one) for one in seen if (rate := credit_rate(one, reserve_percent)) is not None
    ]
    if not rates:
        return None, ""
    rate, one = min(rates, key=lambda found: found[0])
    spendable = credits_left(one) - reserve_bytes(one.state, reserve_percent)
    if one.credits is None:
        return rate, f"{one.mount}: no credits are known, so none are spent"
    if spendable <= 0:
        return rate, f"{one.mount}: no credits above the reserve, so none are spent"
    return rate, f"{one.mount}: the fastest rate that keeps the reserve of credits"


def _in_time(
    now: float, pacing: Pacing, concurrency: int, why: str, limits: PacingLimits, expected: ExpectedEnd
) -> tuple[int, str]:
    """As many functions as the guards allow, but no more than it takes to end in time, and no fewer than planned."""
    current = min(pacing.concurrency, limits.most)
    if concurrency < current:
        return concurrency, why
    settled = now - pacing.moved_at >= SETTLE_SECONDS
    if expected.is_ahead(now) and settled and current > limits.planned:
        return max(limits.planned, math.floor(current / UP)), "ahead of limits.finish_by, also with fewer functions"
    if expected.is_behind(now):
        return concurrency, f"behind limits.finish_by{f': {why}' if why else ''}"
    return (current, "in time for limits.finish_by") if concurrency > current else (concurrency, why)


def _concurrency(
    now: float, pacing: Pacing, seen: Sequence[Observed], throttled: int, limits: PacingLimits
) -> tuple[int, str]:
    """The concurrency by operations and throttling, and why."""
    current = min(pacing.concurrency, limits.most)
    settled = now - pacing.moved_at >= SETTLE_SECONDS
    percents = [(one.io_percent, one.mount) for one in seen if one.io_percent is not None]
    highest = max(percents, default=(0.0, ""))
    if throttled or highest[0] >= IO_HIGH:
        cause = f"{throttled} functions were throttled" if throttled else f"{highest[1]}: PercentIOLimit {highest[0]:g}"
        if not settled:
            return current, f"{cause}; the last change has yet to show"
        return max(1, math.floor(current * DOWN)), cause
    unknown = [one.mount for one in seen if one.io_percent is None or one.used is None]
    if unknown:
        why = f"{unknown[0]}: metrics are late or missing, so not over the plan"
        return min(current, limits.planned), why
    if highest[0] >= IO_ROOM:
        return current, f"{highest[1]}: PercentIOLimit {highest[0]:g}"
    full = [one.mount for one in seen if (one.used or 0.0) >= USE_ROOM * one.state.permitted_bytes_per_second]
    if full:
        return current, f"{full[0]}: the throughput is used"
    if not settled or current >= limits.most:
        return current, ""
    return min(limits.most, max(current + 1, math.floor(current * UP))), "there is room"
