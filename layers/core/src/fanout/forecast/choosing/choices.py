"""Plans of one run, and those of them that no other beats in both seconds and dollars.

A plan is a number of functions and the most seconds of a shard. Each is priced and timed by the forecast of the run.

| not chosen     | because                                                                                      |
|----------------|----------------------------------------------------------------------------------------------|
| a rate         | one that holds functions back makes them wait, and they are paid for; fewer cost less        |
| memory         | a stack deploys its functions in one size                                                    |
| a file system's mode | it is others' too; whether a change would pay is said                                  |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from fanout.forecast.copying import Limit
from fanout.forecast.forecast import Forecast
from fanout.request.parts.limits import Limits

# Chosen: forecasts are within a tenth, so a plan has to leave that.
SPARE = 0.1
# Chosen: neighbours differ by a fifth, less than which no forecast tells apart.
_STEP = 1.2
# Chosen: of plans that differ by less in both, seconds and dollars, one is shown.
_ALIKE_SECONDS, _ALIKE_DOLLARS = 0.25, 0.1
# Tried besides what the request says; shorter shards part longer ones, longer ones are fewer calls.
SHARD_SECONDS = (15.0, 30.0, 60.0, 120.0, 300.0)


class Choice(Struct, frozen=True):
    """A plan: its functions at once, the most seconds of a shard, and what the forecast says of it.

    ``seconds`` are those until the run has ended, its closed hours among them.
    """

    functions: int
    shard_seconds: float
    seconds: float
    dollars: float
    binding: Limit

    @property
    def with_spare(self) -> float:
        """The seconds that the plan has to have."""
        return self.seconds * (1 + SPARE)


# The forecast with at most so many functions and shards of so many seconds, and the seconds until its run has ended.
Predict = Callable[[int, float], tuple[Forecast, float]]


def function_levels(most: int) -> list[int]:
    """Numbers of functions worth trying, up to the most."""
    found, level = [], 1.0
    while level < most:
        found.append(int(level))
        level = max(level + 1, level * _STEP)
    return [*found, most]


def shard_levels(most: float) -> list[float]:
    """Seconds of a shard worth trying, up to the most."""
    return [*(one for one in SHARD_SECONDS if one < most), most]


def choices_of(functions: Iterable[int], shard_seconds: Iterable[float], predict: Predict) -> list[Choice]:
    """The plans of all these numbers, which rise; two that come to the same functions are one."""
    found: dict[tuple[int, float], Choice] = {}
    levels = list(functions)
    for length in shard_seconds:
        for most in levels:
            forecast, seconds = predict(most, length)
            count = forecast.pace.max_concurrency
            one = Choice(count, length, seconds, forecast.dollars.total, forecast.binding)
            known = found.get((count, length))
            if known is None or (one.seconds, one.dollars) < (known.seconds, known.dollars):
                found[count, length] = one
            if count < most:  # a file system or a rate takes no more functions
                break
    return list(found.values())


def unbeaten(choices: Iterable[Choice]) -> list[Choice]:
    """Those that no other beats in both seconds and dollars, the fastest first."""
    found: list[Choice] = []
    for one in sorted(choices, key=_rank):
        if not found or one.dollars < found[-1].dollars - 1e-6:
            found.append(one)
    return found


def _rank(one: Choice) -> tuple[float, float, float, int]:
    """The order of plans; of two alike the one whose shards are about as long as they are by themselves comes first."""
    return round(one.seconds, 3), round(one.dollars, 6), abs(one.shard_seconds - Limits().shard_seconds), one.functions


def taken(front: list[Choice], seconds: float) -> Choice | None:
    """The cheapest that ends within so many seconds and leaves a spare, or else the fastest that ends; or none."""
    in_time = [one for one in front if one.with_spare <= seconds]
    if in_time:
        return min(in_time, key=lambda one: one.dollars)
    return front[0] if front[0].seconds <= seconds else None


def few(front: list[Choice], kept: Choice | None) -> list[Choice]:
    """Some of these, with the first, the last and the one that is kept: neighbours alike are shown once."""
    found: list[Choice] = []
    for one in front:
        last = found[-1] if found else None
        if last is None or not _alike(last, one) or one in (kept, front[-1]):
            found.append(one)
    return found


def _alike(one: Choice, other: Choice) -> bool:
    by_seconds = abs(one.seconds - other.seconds) <= _ALIKE_SECONDS * max(one.seconds, other.seconds)
    return by_seconds and abs(one.dollars - other.dollars) <= _ALIKE_DOLLARS * max(one.dollars, other.dollars)
