"""How the copying was paced: what was seen of the file systems, and what was set, over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from fanout.pacing.rows import DecidedFor, Decision
from fanout.report.series import Series, series_of
from fanout.report.text import duration, number, size

Value = Callable[[Decision], float | None]
_INTERVALS = 240
_TABLE_ROWS = 24
# Chosen: a rate that differs by less than this share is the same one in the table.
_RATE_CHANGE = 0.1


class Paced(Struct, frozen=True):
    """The charts, and rows: after, functions, rate, credits, PercentIOLimit, reason."""

    charts: list[Series]
    rows: list[tuple[str, str, str, str, str, str]]
    decisions: int


def paced(decisions: Sequence[Decision]) -> Paced | None:
    """The charts of the decisions, or none where there are fewer than two."""
    if len(decisions) < 2:
        return None
    began = decisions[0].at
    span = decisions[-1].at - began
    charts = [_chart("concurrency", "Functions at once", decisions, lambda row: row.max_concurrency, number)]
    rates = [row.bytes_per_second for row in decisions]
    if any(rate is not None for rate in rates):
        charts.append(_chart("throughput", "Rate of all", decisions, lambda row: row.bytes_per_second, _rate))
    for index, system in enumerate(decisions[0].file_systems):
        for name, of_system, title, show in (
            ("throughput", _credits, "Burst credits", size),
            ("entries", _percent, "PercentIOLimit", number),
        ):
            value = _of(index, of_system)
            if any(value(row) is not None for row in decisions):
                charts.append(_chart(name, f"{title}: {system.mount}", decisions, value, show))
    rows = [_row(row, began) for row in _changes(decisions)]
    return Paced(charts, rows, len(decisions)) if span > 0 else None


def _credits(one: DecidedFor) -> float | None:
    return one.credits_bytes


def _percent(one: DecidedFor) -> float | None:
    return one.percent_io_limit


def _of(index: int, of_system: Callable[[DecidedFor], float | None]) -> Value:
    return lambda row: of_system(row.file_systems[index])


def _chart(name: str, title: str, decisions: Sequence[Decision], value: Value, show: Callable[[float], str]) -> Series:
    """Each value holds until the next decision; where nothing was known there is none."""
    began, span = decisions[0].at, decisions[-1].at - decisions[0].at
    values: list[float | None] = []
    at = 0
    for interval in range(_INTERVALS):
        time = began + span * interval / _INTERVALS
        while at + 1 < len(decisions) and decisions[at + 1].at <= time:
            at += 1
        values.append(value(decisions[at]))
    return series_of(name, title, values, span, show, in_bytes=show in (_rate, size), per="/s" if show is _rate else "")


def _changes(decisions: Sequence[Decision]) -> list[Decision]:
    """The first decision, and the last ones of those that differ from the one above them by more than their figures."""
    found = [decisions[0]]
    for row in decisions[1:]:
        if _differ(found[-1], row):
            found.append(row)
    return [found[0], *found[1:][-_TABLE_ROWS:]]


def _differ(shown: Decision, row: Decision) -> bool:
    before, after = shown.bytes_per_second, row.bytes_per_second
    if shown.max_concurrency != row.max_concurrency or (before is None) is not (after is None):
        return True
    if before is not None and after is not None and abs(after - before) >= _RATE_CHANGE * before:
        return True
    return _without_figures(shown.reason) != _without_figures(row.reason)


def _without_figures(reason: str) -> str:
    return re.sub(r"[0-9.]+", "", reason)


def _row(row: Decision, began: float) -> tuple[str, str, str, str, str, str]:
    systems = row.file_systems
    credits = [size(one.credits_bytes) for one in systems if one.credits_bytes is not None]
    percents = [number(one.percent_io_limit) for one in systems if one.percent_io_limit is not None]
    rate = "" if row.bytes_per_second is None else _rate(row.bytes_per_second)
    return (
        duration(row.at - began),
        number(row.max_concurrency),
        rate,
        ", ".join(credits),
        ", ".join(percents),
        row.reason,
    )


def _rate(value: float) -> str:
    return f"{size(value)}/s"
