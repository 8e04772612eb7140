"""Predicted against actual seconds of the shards, both on logarithmic axes."""

from __future__ import annotations

import math

from msgspec import Struct

from fanout.report.charts.axes import Tick
from fanout.report.text import count, duration
from fanout.shards.tasks.activity import STEPS_PER_DOUBLING, Activity

# Fewer dots than this are said in the text and the table alone.
_DOTS_WORTH_DRAWING = 3
_DECADES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0)
_LARGEST_RADIUS, _LEAST_RADIUS = 14.0, 3.0


class ShardDot(Struct, frozen=True):
    """Shards of about the same prediction and time; x and y in percent, the radius in pixels."""

    x: float
    y: float
    radius: float
    text: str


class Prediction(Struct, frozen=True):
    """The dots, whether they are worth drawing, where prediction and time are equal, and the same as a table."""

    dots: list[ShardDot]
    drawn: bool
    diagonal: tuple[float, float, float, float]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    rows: list[tuple[str, str, str]]
    median_ratio: float


def prediction(activity: Activity) -> Prediction | None:
    """The chart, or none for a phase that nothing was predicted of."""
    if not activity.pairs:
        return None
    x_axis = _Axis([predicted for predicted, _ in activity.pairs])
    y_axis = _Axis([actual for _, actual in activity.pairs])
    most = max(activity.pairs.values())
    dots, rows = [], []
    for (predicted, actual), shards in sorted(activity.pairs.items()):
        radius = max(_LEAST_RADIUS, _LARGEST_RADIUS * math.sqrt(shards / most)) if most > 1 else _LEAST_RADIUS + 1
        shown = f"about {duration(_seconds(predicted))}", f"about {duration(_seconds(actual))}", count(shards)
        text = f"{shown[2]} shards: predicted {shown[0]}, took {shown[1]}"
        dots.append(ShardDot(x_axis.at(predicted), round(100 - y_axis.at(actual), 2), round(radius, 1), text))
        rows.append(shown)
    least, largest = min(x_axis.first, y_axis.first), max(x_axis.last, y_axis.last)
    diagonal = (x_axis.at(least), 100 - y_axis.at(least), x_axis.at(largest), 100 - y_axis.at(largest))
    drawn = len(dots) >= _DOTS_WORTH_DRAWING
    return Prediction(dots, drawn, diagonal, x_axis.ticks(), y_axis.ticks(), rows, activity.median_ratio)


class _Axis:
    """Steps of a doubling from 0 to 100 percent, with room at both ends."""

    def __init__(self, steps: list[int]) -> None:
        self.first = min(steps) - STEPS_PER_DOUBLING
        self.last = max(steps) + STEPS_PER_DOUBLING

    def at(self, step: float) -> float:
        """Where a step lies; outside of 0 to 100 for one that the axis does not hold."""
        return round((step - self.first) / (self.last - self.first) * 100, 2)

    def ticks(self) -> list[Tick]:
        """Powers of ten that lie on the axis, or its middle if none does."""
        found = [(math.log2(seconds) * STEPS_PER_DOUBLING, f"{seconds:g} s") for seconds in _DECADES]
        ticks = [Tick(self.at(step), label) for step, label in found if self.first <= step <= self.last]
        middle = (self.first + self.last) / 2
        return ticks or [Tick(50.0, duration(_seconds(middle)))]


def _seconds(step: float) -> float:
    return float(2.0 ** (step / STEPS_PER_DOUBLING))
