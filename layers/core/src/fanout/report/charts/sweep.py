"""A sweep: what was measured at each of some settings, medians with their quartiles, and the caps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from fanout.report.charts.axes import Tick, line_through, percent_of, value_ticks
from fanout.report.text import number, size

# A cap this many times over what was measured would squash the rest: it is named and not drawn.
_CAP_IN_SIGHT = 2.5


class Measure(Struct, frozen=True):
    """Median and quartiles at the setting ``label``; ``at`` orders the settings."""

    at: float
    label: str
    median: float
    lower: float
    upper: float
    samples: int


class Whisker(Struct, frozen=True):
    """A dot with its whisker, in percent of the drawing, y from the top."""

    x: float
    y: float
    upper: float
    lower: float
    text: str


class Line(Struct, frozen=True):
    """The marks of one series, and the path through them."""

    kind: str
    title: str
    marks: list[Whisker]
    path: str


class Cap(Struct, frozen=True):
    """A published limit; ``y`` is ``None`` where it lies above the drawing."""

    name: str
    text: str
    y: float | None


class Sweep(Struct, frozen=True):
    """A chart, and the same as a table."""

    title: str
    text: str
    lines: list[Line]
    caps: list[Cap]
    settings: list[Tick]
    values: list[Tick]
    heads: list[str]
    rows: list[tuple[str, str, str, str, str]]


def latency(seconds: float) -> str:
    """Milliseconds with three digits that count, or seconds."""
    return f"{number(seconds * 1000)} ms" if seconds < 1 else f"{number(seconds)} s"


def rate(value: float) -> str:
    return f"{size(value)}/s"


def sweep(
    title: str,
    setting: str,
    series: Sequence[tuple[str, str, Sequence[Measure]]],
    show: Callable[[float], str],
    caps: Sequence[tuple[str, float]] = (),
) -> Sweep | None:
    """The chart of series (kind, title, measures), or none without any; latencies lie on a logarithmic axis."""
    drawn = [(kind, name, sorted(measures, key=lambda one: one.at)) for kind, name, measures in series if measures]
    if not drawn:
        return None
    places = _places([one for _, _, measures in drawn for one in measures])
    top = max(one.upper for _, _, measures in drawn for one in measures)
    seen = [value for _, value in caps if value <= top * _CAP_IN_SIGHT]
    if show is latency:
        least = min(one.lower for _, _, measures in drawn for one in measures)
        height, values = _decades(least, top)
    else:
        end, values = value_ticks(max([top, *seen]) or 1.0, in_bytes=show is rate)
        height = lambda value: percent_of(value, end)  # noqa: E731
    marked = [
        (kind, name, [_mark(one, places, height, name, show) for one in measures]) for kind, name, measures in drawn
    ]
    lines = [Line(kind, name, marks, line_through([(one.x, one.y) for one in marks])) for kind, name, marks in marked]
    rows = [
        (one.label, name, show(one.median), f"{show(one.lower)} to {show(one.upper)}", f"{one.samples:,}")
        for _, name, measures in drawn
        for one in measures
    ]
    said = [
        f"{name}: " + ", ".join(f"{show(one.median)} at {one.label}" for one in {measures[0]: 0, measures[-1]: 0})
        for _, name, measures in drawn
    ]
    return Sweep(
        title,
        f"{title}. {'; '.join(said)}.",
        lines,
        [Cap(name, show(value), round(100 - height(value), 2) if value in seen else None) for name, value in caps],
        [Tick(x, label) for label, x in places.values()],
        values,
        [setting, "Measured", "Median", "Quartiles", "Samples"],
        rows,
    )


def _places(measures: Sequence[Measure]) -> dict[float, tuple[str, float]]:
    """Label and place of each setting, evenly spaced, with half a space at both ends."""
    labels = {one.at: one.label for one in sorted(measures, key=lambda one: one.at)}
    return {
        at: (label, round((index + 0.5) / len(labels) * 100, 2)) for index, (at, label) in enumerate(labels.items())
    }


def _mark(
    one: Measure,
    places: dict[float, tuple[str, float]],
    height: Callable[[float], float],
    name: str,
    show: Callable[[float], str],
) -> Whisker:
    text = f"{name}, {one.label}: {show(one.median)} ({show(one.lower)} to {show(one.upper)}, {one.samples:,} samples)"
    y, upper, lower = (round(100 - height(value), 2) for value in (one.median, one.upper, one.lower))
    return Whisker(places[one.at][1], y, upper, lower, text)


def _decades(least: float, most: float) -> tuple[Callable[[float], float], list[Tick]]:
    """A logarithmic axis of whole powers of ten."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    last = max(last, first + 1)

    def height(value: float) -> float:
        return round((math.log10(value) - first) / (last - first) * 100, 2)

    return height, [Tick(height(10.0**power), latency(10.0**power)) for power in range(first, last + 1)]
