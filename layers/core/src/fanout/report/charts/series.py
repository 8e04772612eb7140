"""The charts over time: bytes, entries and working tasks, as stepped areas."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from fanout.report.charts.axes import HEIGHT, WIDTH, Tick, time_ticks, value_ticks
from fanout.report.text import duration, number, size
from fanout.shards.tasks.activity import Activity

# Rows of the table next to the charts.
_TABLE_ROWS = 24


class Series(Struct, frozen=True):
    """A chart: a path and its axes."""

    name: str
    title: str
    text: str
    line: str
    area: str
    times: list[Tick]
    values: list[Tick]


class OverTime(Struct, frozen=True):
    """The charts of a phase, and the same as a table: from, to, bytes a second, entries a second, tasks."""

    charts: list[Series]
    rows: list[tuple[str, str, str, str, str]]


def over_time(activity: Activity) -> OverTime | None:
    """The charts, or none for a phase that took no time."""
    width = activity.interval_seconds
    if width <= 0:
        return None
    in_bytes = [interval.bytes / width for interval in activity.intervals]
    entries = [interval.entries / width for interval in activity.intervals]
    tasks = [interval.busy_seconds / width for interval in activity.intervals]
    span = activity.ended - activity.began
    charts = [
        series_of("throughput", "Throughput", in_bytes, span, _per_second, in_bytes=True),
        series_of("entries", "Entries a second", entries, span, number),
        series_of("concurrency", "Tasks at work", tasks, span, number),
    ]
    return OverTime(charts, _rows(activity, in_bytes, entries, tasks))


def _per_second(value: float) -> str:
    return f"{size(value)}/s"


def series_of(
    name: str,
    title: str,
    values: Sequence[float | None],
    span: float,
    show: Callable[[float], str],
    *,
    in_bytes: bool = False,
    per: str = "/s",
) -> Series:
    """A chart of values that follow each other in equal intervals over ``span`` seconds; bytes are ``per`` second.

    Where there is no value the drawing has a gap, and the text says for how long.
    """
    known = [value for value in values if value is not None]
    top = max(known, default=0.0)
    mean = sum(known) / max(1, len(known))
    end, ticks = value_ticks(top or 1.0, in_bytes=in_bytes, per=per)
    pieces = _pieces(values, end)
    line = "".join(piece for piece, _ in pieces)
    area = "".join(f"{piece}V{HEIGHT:.0f}H{began}Z" for piece, began in pieces)
    missing = span * (len(values) - len(known)) / len(values)
    without = f", {duration(missing)} of it without a value" if missing else ""
    text = f"{title}: {show(mean)} on average, {show(top)} at most, over {duration(span)}{without}."
    return Series(name, title, text, line, area, time_ticks(span), ticks)


def _pieces(values: Sequence[float | None], end: float) -> list[tuple[str, str]]:
    """A path and where it begins for each run of values without a gap."""
    step = WIDTH / len(values)
    pieces: list[tuple[str, str]] = []
    points, began, at = "", "", ""
    for index, value in enumerate([*values, None]):
        x = f"{index * step:.1f}".removesuffix(".0")
        if value is None:
            if points:
                pieces.append((f"{points}H{x}", began))
            points = at = ""
            continue
        y = f"{HEIGHT * (1 - value / end):.1f}"
        if not points:
            points, began = f"M{x} {y}", x
        elif y != at:
            points += f"H{x}V{y}"
        at = y
    return pieces


def _rows(activity: Activity, *rates: Sequence[float]) -> list[tuple[str, str, str, str, str]]:
    count = len(activity.intervals)
    per_row = -(-count // _TABLE_ROWS)
    rows = []
    for first in range(0, count, per_row):
        end = min(first + per_row, count)
        in_bytes, entries, tasks = (sum(values[first:end]) / (end - first) for values in rates)
        width = activity.interval_seconds
        rows.append(
            (duration(first * width), duration(end * width), _per_second(in_bytes), number(entries), number(tasks))
        )
    return rows
