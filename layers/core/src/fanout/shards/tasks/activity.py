"""Adds up the activity of a phase's tasks over time, shard by shard, in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from heapq import heappush, heappushpop

from msgspec import Struct, field

from fanout.model.books import Count
from fanout.shards.tasks.attempt import Attempt, AttemptEnd

# Intervals of the time axis; shards that are shown each, for their length and for their trouble.
INTERVALS = 240
LONGEST_SHOWN = 60
TROUBLED_SHOWN = 40
# Steps of a factor of two in which predicted and actual seconds are counted together.
STEPS_PER_DOUBLING = 2
# A straggler took so many times longer, for its prediction, than the median shard.
STRAGGLER_FACTOR = 2.0
_RATIO_STEPS = 8


class ShardActivity(Struct, frozen=True):
    """One shard's attempts; ``seconds`` is the sum of all attempts whose end is known."""

    shard_id: str
    predicted_seconds: float
    seconds: float
    attempts: tuple[Attempt, ...]

    @property
    def ratio(self) -> float:
        """Actual over predicted seconds; 0 if either is not known."""
        return self.seconds / self.predicted_seconds if self.predicted_seconds > 0 else 0.0

    @property
    def troubled(self) -> bool:
        """Whether an attempt failed or was lost."""
        return any(attempt.end in (AttemptEnd.FAILED, AttemptEnd.LOST) for attempt in self.attempts)


class Interval(Struct):
    """The activity in one interval; an attempt that spans several counts in each by its share."""

    entries: float = 0.0
    bytes: float = 0.0
    busy_seconds: float = 0.0


class Activity(Struct):
    """A phase from ``began`` to ``ended`` (seconds since 1970) in ``INTERVALS`` equal intervals."""

    phase: str
    began: float
    ended: float
    shards: int = 0
    attempts: int = 0
    seconds: float = 0.0
    predicted_seconds: float = 0.0
    worked: Count = field(default_factory=Count)
    ends: Counter[AttemptEnd] = field(default_factory=Counter)
    # How many shards were predicted and took about so much, in steps of a doubling.
    pairs: Counter[tuple[int, int]] = field(default_factory=Counter)
    intervals: list[Interval] = field(default_factory=lambda: [Interval() for _ in range(INTERVALS)])
    _ratios: Counter[int] = field(default_factory=Counter)
    _longest: list[tuple[float, str, ShardActivity]] = field(default_factory=list)
    _troubled: list[tuple[float, str, ShardActivity]] = field(default_factory=list)

    @property
    def interval_seconds(self) -> float:
        return (self.ended - self.began) / INTERVALS

    def add(self, shard_id: str, predicted_seconds: float, attempts: Sequence[Attempt]) -> None:
        """Take all attempts of a shard, in the order of their begin."""
        seconds = sum(attempt.seconds for attempt in attempts)
        shard = ShardActivity(shard_id, predicted_seconds, seconds, tuple(attempts))
        self.shards += 1
        self.attempts += len(attempts)
        self.seconds += seconds
        self.predicted_seconds += predicted_seconds
        for attempt in attempts:
            self.ends[attempt.end] += 1
            self.worked += Count(attempt.entries, attempt.bytes)
            self._spread(attempt)
        if shard.ratio > 0:
            self.pairs[_step(predicted_seconds), _step(seconds)] += 1
            self._ratios[round(math.log2(shard.ratio) * _RATIO_STEPS)] += 1
        _keep(self._longest, shard, LONGEST_SHOWN)
        if shard.troubled:
            _keep(self._troubled, shard, TROUBLED_SHOWN)

    @property
    def median_ratio(self) -> float:
        """Actual over predicted seconds of the middle shard, to a twelfth; 0 if there is none."""
        middle, seen = sum(self._ratios.values()) / 2, 0
        for step, count in sorted(self._ratios.items()):
            seen += count
            if seen >= middle:
                return _ratio(step)
        return 0.0

    @property
    def stragglers(self) -> int:
        """Shards that took over ``STRAGGLER_FACTOR`` times as long, for their prediction, as the median one."""
        limit = self.median_ratio * STRAGGLER_FACTOR
        return sum(count for step, count in self._ratios.items() if _ratio(step) > limit)

    def is_straggler(self, shard: ShardActivity) -> bool:
        """Whether a shard is one, in the same steps."""
        if shard.ratio <= 0:
            return False
        return _ratio(round(math.log2(shard.ratio) * _RATIO_STEPS)) > self.median_ratio * STRAGGLER_FACTOR

    def shown(self) -> list[ShardActivity]:
        """The longest shards and those in trouble, in the order of their begin."""
        kept = {shard_id: shard for _, shard_id, shard in self._longest + self._troubled}
        return sorted(kept.values(), key=lambda shard: (shard.attempts[0].began, shard.shard_id))

    def _spread(self, attempt: Attempt) -> None:
        """Give each interval that the attempt touches its share, as if it had gone at one speed."""
        width = self.interval_seconds
        if attempt.ended is None or width <= 0:
            return
        began = min(max(attempt.began, self.began), self.ended)
        ended = min(max(attempt.ended, began), self.ended)
        first = min(int((began - self.began) / width), INTERVALS - 1)
        last = min(int((ended - self.began) / width), INTERVALS - 1)
        for index in range(first, last + 1):
            start = self.began + index * width
            overlap = max(0.0, min(ended, start + width) - max(began, start))
            share = overlap / (ended - began) if ended > began else 1.0 / (last + 1 - first)
            interval = self.intervals[index]
            interval.entries += attempt.entries * share
            interval.bytes += attempt.bytes * share
            interval.busy_seconds += overlap


def _keep(heap: list[tuple[float, str, ShardActivity]], shard: ShardActivity, size: int) -> None:
    item = (shard.seconds, shard.shard_id, shard)
    if len(heap) < size:
        heappush(heap, item)
    else:
        heappushpop(heap, item)


def _step(seconds: float) -> int:
    return round(math.log2(max(seconds, 0.001)) * STEPS_PER_DOUBLING)


def _ratio(step: int) -> float:
    return float(2.0 ** (step / _RATIO_STEPS))
