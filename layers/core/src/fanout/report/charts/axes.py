"""Axes: round values to draw lines at, and where they lie in percent."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from fanout.report.text import duration, number, unit_of

# The box that a line is drawn in; the page stretches it.
WIDTH, HEIGHT = 1000.0, 100.0
_TIME_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_TICKS = 5


class Tick(Struct, frozen=True):
    """A label at so many percent of the axis; ``anchor`` keeps it inside the drawing."""

    at: float
    label: str
    anchor: str = "middle"


def percent_of(value: float, whole: float) -> float:
    """Percent, to a hundredth, within 0 and 100."""
    return round(min(max(value / whole, 0.0), 1.0) * 100, 2) if whole > 0 else 0.0


def line_through(points: Sequence[tuple[float, float]]) -> str:
    """The path through points in percent; y is from the top."""
    return "M" + "L".join(f"{x / 100 * WIDTH:.1f} {y / 100 * HEIGHT:.1f}" for x, y in points)


def time_ticks(seconds: float) -> list[Tick]:
    """Ticks of a time axis that begins at 0."""
    step = next((step for step in _TIME_STEPS if seconds / step <= _TICKS), math.ceil(seconds / _TICKS / 86400) * 86400)
    ticks = [Tick(0.0, "0", "start")]
    for index in range(1, int(seconds / step) + 1):
        at = percent_of(index * step, seconds)
        ticks.append(Tick(at, _clock(index * step), "end" if at > 94 else "middle"))
    return ticks


def value_ticks(top: float, *, in_bytes: bool = False, per: str = "/s") -> tuple[float, list[Tick]]:
    """The end of a value axis that holds ``top``, and its ticks from the bottom, without that at 0.

    Bytes are shown in a unit and ``per`` what they are, a second or nothing.
    """
    per_unit, unit = unit_of(top) if in_bytes else (1.0, "")
    step = _round_step(top / per_unit / 3) * per_unit
    steps = max(1, math.ceil(top / step - 1e-9))
    end = step * steps
    suffix = f" {unit}{per}" if in_bytes else ""
    values = [index * step for index in range(1, steps + 1)]
    return end, [Tick(percent_of(value, end), f"{number(value / per_unit)}{suffix}") for value in values]


def _round_step(wanted: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is not below ``wanted``."""
    if wanted <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((power * factor for factor in (1, 2, 5) if power * factor >= wanted), power * 10)


def _clock(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g} s"
    if seconds < 3600 and seconds % 60 == 0:
        return f"{seconds / 60:g} min"
    if seconds % 3600 == 0:
        return f"{seconds / 3600:g} h"
    return duration(seconds)
