"""Burst credits over a run: as PaceCopy keeps the reserve, minute by minute, and as they would go without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import (
    Drain,
    FileSystemState,
    Load,
    baseline,
    burst,
    drain,
    left_for_run,
    most_credits,
    reserve_bytes,
)
from fanout.pacing.rule import DECIDE_SECONDS, Observed, credit_rate

# Assumed: how old CloudWatch's balance is when PaceCopy decides; the plan's own has none to take off.
BALANCE_AGE_SECONDS = 180.0
# Chosen: a step of the walk is a decision; later ones are a tenth of the time until then, or a 200th of what is left.
_LATER, _OF_THE_REST = 0.1, 1 / 200


class Credits(Struct, frozen=True):
    """Burst credits of a mount over the work, bytes; ``drain`` says when they run out, if they do.

    ``bytes_per_second`` is the metered rate that this comes to. ``unheld`` is what would become of the credits if all
    functions that the request allows went as fast as they can.
    """

    begin: float
    reserve: float
    reserve_percent: float
    bytes_per_second: float
    drain: Drain
    unheld: Drain

    @property
    def is_held(self) -> bool:
        """Whether the pacing keeps credits that would be used up without it."""
        uses_them_up = self.unheld.empty_share is not None or self.unheld.credits_end < self.reserve
        return uses_them_up and self.unheld.credits_end < self.drain.credits_end * 0.999


def credits_of(
    drains: Mapping[str, Drain],
    states: Mapping[str, FileSystemState],
    loads: Mapping[str, Load],
    free_seconds: float,
    reserve_percent: float,
) -> dict[str, Credits]:
    """The credits of each mount that has any; ``free_seconds`` is what the functions take if nothing holds them."""
    found = {}
    for mount, state in states.items():
        if state.credits_bytes is None:
            continue
        begin, metered = state.credits_bytes, loads[mount].metered_bytes
        done = drains.get(mount, Drain(0.0, begin))
        free = drain(state, metered, metered / free_seconds) if metered and free_seconds else done
        rate = metered / done.seconds if done.seconds else 0.0
        found[mount] = Credits(begin, reserve_bytes(state, reserve_percent), reserve_percent, rate, done, free)
    return found


def paced_drains(
    seen: Sequence[Observed], own_seconds: float, reserve_percent: float, *, is_paced: bool = True
) -> dict[str, Drain]:
    """Forecasts the burst credits of each file system that has any, by mount.

    ``own_seconds`` is the time of the functions if no credits hold them back. All file systems work at the pace of the
    slowest. If the run ``is_paced``, the rate is decided again with the credits left; else the first rate stays.
    """
    with_credits = [one for one in seen if one.state.credits_bytes is not None]
    walk = _Walk(with_credits, reserve_percent)
    if not with_credits:
        return {}
    own = 1 / own_seconds if own_seconds else inf
    if not is_paced:
        speed = min(own, walk.speed(0.0))
        return {one.mount: drain(one.state, one.metered_left, one.metered_left * speed) for one in with_credits}
    while walk.left > 1e-9:
        speed = min(own, walk.speed(BALANCE_AGE_SECONDS if walk.seconds else 0.0))
        rest = walk.left / speed
        walk.go(speed, min(rest, max(DECIDE_SECONDS, min(walk.seconds * _LATER, rest * _OF_THE_REST))))
    return {one.mount: Drain(walk.seconds, walk.credits[one.mount], *walk.empty(one.mount)) for one in with_credits}


def throughput_seconds(state: FileSystemState, load: Load) -> float:
    """Seconds that the throughput of a file system without credits takes at least."""
    written = load.metered_bytes / left_for_run(state, state.permitted_bytes_per_second)
    return max(written, load.read_bytes / state.quota.read_bytes_per_second)


class _Walk:
    """The run so far: the share that is ``left``, and the credits that each file system has."""

    def __init__(self, seen: Sequence[Observed], reserve_percent: float) -> None:
        self.seen, self.reserve_percent = seen, reserve_percent
        self.left, self.seconds = 1.0, 0.0
        self.credits = {one.mount: one.state.credits_bytes or 0.0 for one in seen}
        self._loss: dict[str, float] = {}
        self._empty: dict[str, tuple[float, float]] = {}

    def speed(self, age: float) -> float:
        """The share of the work a second that the file systems allow, with a balance as old as that."""
        return min(self._rate(one, age) / one.metered_left for one in self.seen)

    def _rate(self, one: Observed, age: float) -> float:
        """Metered bytes a second: what PaceCopy allows, or what there is if that is less."""
        balance = self.credits[one.mount] + self._loss.get(one.mount, 0.0) * age
        now = replace(one, metered_left=self.left * one.metered_left, credits=max(0.0, balance), credits_age=age)
        rate = credit_rate(now, self.reserve_percent)
        size = one.state.standard_bytes
        possible = left_for_run(one.state, burst(size) if self.credits[one.mount] > 0 else baseline(size))
        return possible if rate is None else min(rate, possible)

    def go(self, speed: float, seconds: float) -> None:
        """Go on at that speed."""
        for one in self.seen:
            had, size = self.credits[one.mount], one.state.standard_bytes
            loss = speed * one.metered_left + one.state.others_bytes_per_second - baseline(size)
            self._loss[one.mount] = loss
            self.credits[one.mount] = min(most_credits(size), max(0.0, had - loss * seconds))
            if had > 0 and self.credits[one.mount] == 0:
                until = had / loss
                self._empty.setdefault(one.mount, (1 - self.left + speed * until, self.seconds + until))
        self.left -= speed * seconds
        self.seconds += seconds

    def empty(self, mount: str) -> tuple[float | None, float | None]:
        """The share done when the credits ran out, and when that was; nothing if they did not."""
        return self._empty.get(mount, (None, None))
