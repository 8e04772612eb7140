"""A file system in simulated hours: functions that copy to it, others that use it, and CloudWatch that tells late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from fanout.efs.capacity import FileSystemState, baseline, burst, most_credits
from fanout.facts.units import MIB
from fanout.model.file_system import CREDITS, IO_LIMIT, METERED, Reading, ThroughputMode
from fanout.pacing.pace_copy import LEAST_SHARE
from fanout.pacing.rows import seen_of
from fanout.pacing.rule import ExpectedEnd, Pacing, PacingLimits, decide

GB = 10**9
STEP = 60.0
# One function moves at most so much; so two of them use more than a bursting file system of 100 GB bursts at.
FUNCTION_RATE = 75 * MIB


@dataclass
class Simulation:
    """``lag`` seconds until CloudWatch tells; ``others`` is what they use (metered) at a time; ``silent`` between two
    times CloudWatch tells nothing. ``iops_at`` functions reach the limit of operations."""

    mode: ThroughputMode = ThroughputMode.BURSTING
    stored: float = 100 * GB
    credits_percent: float = 10.0
    todo: float = 1_000 * GB
    lag: float = 180.0
    others: Callable[[float], float] = lambda _now: 0.0
    silent: tuple[float, float] = (0.0, 0.0)
    iops_at: float = float("inf")
    most: int = 100
    planned: int = 10
    reserve_percent: float = 0.0
    permitted: float = 1024 * MIB
    copied_by: float | None = None
    function_rate: float = FUNCTION_RATE
    bytes_per_second: int | None = None
    now: float = 0.0
    done: float = 0.0
    lowest: float = field(init=False)
    trace: list[tuple[float, float, int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.credits = most_credits(self.stored) * self.credits_percent / 100
        self.lowest = self.credits
        self._metrics: dict[str, list[Reading]] = {CREDITS: [], METERED: [], IO_LIMIT: []}
        self.state = FileSystemState(
            self.mode,
            self.permitted if self.mode is not ThroughputMode.BURSTING else burst(self.stored),
            standard_bytes=int(self.stored),
            credits_bytes=self.credits if self.mode is ThroughputMode.BURSTING else None,
        )

    def run(self, hours: float = 200.0) -> float:
        """Copy to the end with the pacing; returns the seconds that it took."""
        pacing = Pacing(self.planned, moved_at=-1e9)
        bounds = PacingLimits(self.most, self.planned, self.reserve_percent, self.bytes_per_second)
        since, done = self.now, self.done
        while self.done < self.todo and self.now < hours * 3600:
            readings = {} if self.silent[0] <= self.now < self.silent[1] else self._told()
            left = self.todo - self.done
            seen = seen_of("data", self.state, readings, self.now, left, 1.0, pacing.bytes_per_second)
            if not self._metrics[CREDITS] and self.state.credits_bytes is not None:  # the plan has just measured
                seen = type(seen)("data", self.state, left, credits=self.credits)
            after = decide(self.now, pacing, [seen], 0, bounds, self._progress(since, done))
            if after.concurrency != pacing.concurrency:
                since, done = self.now, self.done
            pacing = after
            self._minute(pacing)
        return self.now

    def _progress(self, since: float, done: float) -> ExpectedEnd | None:
        """As PaceCopy sees it: the end at the speed since the last change."""
        if self.copied_by is None or self.done - done < LEAST_SHARE * self.todo:
            return None
        return ExpectedEnd(self.now + (self.now - since) * (self.todo - self.done) / (self.done - done), self.copied_by)

    def optimum(self) -> float:
        """Seconds with perfect knowledge, down to the reserve and not below, nobody else on it."""
        spendable = max(0.0, self.credits - most_credits(self.stored) * self.reserve_percent / 100)
        fast, slow = burst(self.stored), baseline(self.stored)
        moved_fast = min(self.todo, fast * spendable / (fast - slow))
        return moved_fast / fast + (self.todo - moved_fast) / slow

    def _minute(self, pacing: Pacing) -> None:
        wanted = float(pacing.concurrency * self.function_rate)
        for rate in (pacing.bytes_per_second, self.bytes_per_second):
            wanted = wanted if rate is None else min(wanted, rate)
        others = self.others(self.now)
        if self.mode is ThroughputMode.BURSTING:
            possible = burst(self.stored) if self.credits > 0 else baseline(self.stored)
        else:
            possible = self.permitted
        ours = max(0.0, min(wanted, possible - others))
        self.credits += (baseline(self.stored) - ours - others) * STEP
        self.credits = min(max(0.0, self.credits), most_credits(self.stored))
        self.lowest = min(self.lowest, self.credits)
        self.done += ours * STEP
        self.now += STEP
        percent = min(100.0, 100.0 * pacing.concurrency / self.iops_at)
        self.trace.append((self.now, ours, pacing.concurrency, percent))
        for name, value in ((CREDITS, self.credits), (METERED, (ours + others) * STEP), (IO_LIMIT, percent)):
            self._metrics[name].append(Reading(self.now, value))

    def _told(self) -> dict[str, list[Reading]]:
        known = {
            name: [one for one in found[-20:] if one.at <= self.now - self.lag] for name, found in self._metrics.items()
        }
        return {name: found for name, found in known.items() if found}
