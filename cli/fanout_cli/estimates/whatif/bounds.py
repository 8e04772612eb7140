"""Bounds that all functions of a run share, as they change over a replay: throughput, operations, a request's rate."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from math import inf

from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, baseline, burst, left_for_run, most_credits
from fanout.pacing.rule import Observed, credit_rate


class Bound:
    """So many units a second; which units, ``Job.uses`` says by the name of the bound."""

    def __init__(self, name: str, per_second: float) -> None:
        self.name, self.per_second = name, per_second

    @property
    def changes(self) -> bool:
        """Whether it is another one later."""
        return False

    def rate(self) -> float:
        """Units a second now."""
        return self.per_second

    def go(self, _seconds: float, _used: float) -> None:
        """Let time pass in which so many units a second are used."""


class CreditBound(Bound):
    """The throughput of a bursting file system: with credits, then its baseline; as PaceCopy keeps its reserve."""

    def __init__(self, name: str, state: FileSystemState, metered: float, reserve_percent: float) -> None:
        super().__init__(name, 0.0)
        self.state, self.left, self.reserve_percent = state, metered, reserve_percent
        self.credits = state.credits_bytes or 0.0

    @property
    def changes(self) -> bool:
        return True

    def rate(self) -> float:
        """Metered bytes a second that PaceCopy allows, or what there is if that is less."""
        size = self.state.standard_bytes
        possible = left_for_run(self.state, burst(size) if self.credits > 0 else baseline(size))
        now = replace(self.state, credits_bytes=self.credits)
        allowed = credit_rate(Observed("", now, max(1.0, self.left), credits=self.credits), self.reserve_percent)
        return possible if allowed is None else min(possible, allowed)

    def go(self, seconds: float, used: float) -> None:
        """Spend credits, and earn some."""
        size = self.state.standard_bytes
        loss = used + self.state.others_bytes_per_second - baseline(size)
        self.credits = min(most_credits(size), max(0.0, self.credits - loss * seconds))
        self.left -= used * seconds


class TimedBound(Bound):
    """Units a second from each of some times on, in seconds from the begin; ``None`` for no bound."""

    def __init__(self, name: str, rates: Sequence[tuple[float, float | None]]) -> None:
        super().__init__(name, inf)
        self._later, self._now = deque(rates), 0.0

    @property
    def changes(self) -> bool:
        return bool(self._later)

    def go(self, seconds: float, _used: float) -> None:
        self._now += seconds
        while self._later and self._later[0][0] <= self._now:
            rate = self._later.popleft()[1]
            self.per_second = inf if rate is None else rate


def throughput_of(mount: str, state: FileSystemState, metered: float, reserve_percent: float) -> Bound:
    """The bound of a file system's throughput, in metered bytes."""
    name = f"throughput of efs://{mount}/"
    if state.credits_bytes is not None:
        return CreditBound(name, state, metered, reserve_percent)
    return Bound(name, left_for_run(state, state.permitted_bytes_per_second))


def credits_left(bounds: list[Bound]) -> Mapping[str, float]:
    """The credits of each bound that has any, by its name."""
    return {one.name: one.credits for one in bounds if isinstance(one, CreditBound)}
