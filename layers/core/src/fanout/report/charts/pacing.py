"""How the copying was paced: what was seen of the file systems, and what was set, over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from fanout.pacing.rows import PacingDecision
from fanout.report.charts.series import Series, series_of
from fanout.report.text import duration, number, size

Show = Callable[[float], str]
_INTERVALS = 240
_TABLE_ROWS = 24
# Chosen: a rate that differs by less than this share is the same one in the table.
_RATE_CHANGE = 0.1


class Paced(Struct, frozen=True):
    """The charts, and rows: after, functions, rate, credits, PercentIOLimit, reason."""

    charts: list[Series]
    rows: list[tuple[str, str, str, str, str, str]]
    decisions: int


def paced(decisions: Sequence[PacingDecision]) -> Paced | None:
    """The charts of the decisions, or none where there are fewer than two."""
    if len(decisions) < 2:
        return None
    began = decisions[0].at
    span = decisions[-1].at - began
    functions = [float(row.max_concurrency) for row in decisions]
    charts = [_chart("concurrency", "Functions at once", decisions, functions, number)]
    found: list[tuple[str, str, list[float | None], Show]] = [
        ("throughput", "Rate of all", [row.bytes_per_second for row in decisions], _rate)
    ]
    for index, system in enumerate(decisions[0].file_systems):
        seen = [row.file_systems[index] for row in decisions]
        found += [
            ("throughput", f"Burst credits: {system.mount}", [one.credits_bytes for one in seen], size),
            ("entries", f"PercentIOLimit: {system.mount}", [one.percent_io_limit for one in seen], number),
        ]
    for name, title, values, show in found:
        if any(value is not None for value in values):
            charts.append(_chart(name, title, decisions, values, show))
    rows = [_row(row, began) for row in _changes(decisions)]
    return Paced(charts, rows, len(decisions)) if span > 0 else None


def _chart(
    name: str, title: str, decisions: Sequence[PacingDecision], set_: Sequence[float | None], show: Show
) -> Series:
    """Each value that was set holds until the next decision; where nothing was known there is none."""
    began, span = decisions[0].at, decisions[-1].at - decisions[0].at
    values: list[float | None] = []
    at = 0
    for interval in range(_INTERVALS):
        time = began + span * interval / _INTERVALS
        while at + 1 < len(decisions) and decisions[at + 1].at <= time:
            at += 1
        values.append(set_[at])
    return series_of(name, title, values, span, show, in_bytes=show in (_rate, size), per="/s" if show is _rate else "")


def _changes(decisions: Sequence[PacingDecision]) -> list[PacingDecision]:
    """The first decision, and the last ones of those that differ from the one above them by more than their figures."""
    found = [decisions[0]]
    for row in decisions[1:]:
        if _differ(found[-1], row):
            found.append(row)
    return [found[0], *found[1:][-_TABLE_ROWS:]]


def _differ(shown: PacingDecision, row: PacingDecision) -> bool:
    before, after = shown.bytes_per_second, row.bytes_per_second
    if shown.max_concurrency != row.max_concurrency or (before is None) is not (after is None):
        return True
    if before is not None and after is not None and abs(after - before) >= _RATE_CHANGE * before:
        return True
    return _without_figures(shown.reason) != _without_figures(row.reason)


def _without_figures(reason: str) -> str:
    return re.sub(r"[0-9.]+", "", reason)


def _row(row: PacingDecision, began: float) -> tuple[str, str, str, str, str, str]:
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
