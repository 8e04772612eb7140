"""The plans that no other beats, as a curve of dollars over seconds."""

from __future__ import annotations

from msgspec import Struct

from fanout.forecast.choosing.finish import Finish, FinishPlan
from fanout.forecast.copying import Limit
from fanout.report.charts.axes import Tick, line_through, percent_of, time_ticks
from fanout.report.text import clock, count, duration

# Chosen: the time axis ends so much after the slowest plan, or the time to end by.
_MORE = 1.05


class PlanDot(Struct, frozen=True):
    """A plan, in percent of the drawing, y from the top; ``kind`` is ``taken`` for the one that is taken."""

    x: float
    y: float
    kind: str
    text: str


class Curve(Struct, frozen=True):
    """The chart, and the same as a table. ``by`` is where the time to end by lies, if it lies in sight."""

    text: str
    dots: list[PlanDot]
    path: str
    by: float | None
    times: list[Tick]
    values: list[Tick]
    heads: list[str]
    rows: list[tuple[str, ...]]


def curve(finish: Finish) -> Curve:
    plans, left = finish.plans, finish.seconds_left
    slowest = max(one.seconds for one in plans)
    end = max(slowest, left if left <= 3 * slowest else 0.0) * _MORE
    least, most = min(one.dollars for one in plans), max(one.dollars for one in plans)
    margin = (most - least) * 0.15 or most * 0.1 or 0.01
    low, high = max(0.0, least - margin), most + margin
    dots = [_dot(one, finish, end, low, high) for one in plans]
    first, last = plans[0], plans[-1]
    said = f"From {_said(first)} to {_said(last)}" if first is not last else _said(first)
    return Curve(
        text=f"Dollars over time. {said}.",
        dots=dots,
        path=line_through([(dot.x, dot.y) for dot in dots]) if len(dots) > 1 else "",
        by=percent_of(left, end) if left <= end else None,
        times=time_ticks(end),
        values=[Tick(percent_of(one - low, high - low), money(one, high - low)) for one in sorted({least, most})],
        heads=["Functions", "Seconds of a shard", "Takes", "Ends", "Dollars", "Binds", "Taken"],
        rows=[_row(one, finish) for one in plans],
    )


def is_taken(one: FinishPlan, finish: Finish) -> bool:
    """Whether a plan is the one that is taken."""
    return (one.functions, one.shard_seconds) == (finish.functions, finish.shard_seconds)


def money(value: float, width: float) -> str:
    """Dollars, as exact as plans that differ by ``width`` need."""
    return f"${value:,.2f}" if width >= 0.05 else f"${value:,.4f}"


def _dot(one: FinishPlan, finish: Finish, end: float, low: float, high: float) -> PlanDot:
    kind = "taken" if is_taken(one, finish) else "first"
    y = round(100 - percent_of(one.dollars - low, high - low), 2)
    return PlanDot(percent_of(one.seconds, end), y, kind, f"{_said(one)}; the {binds(one.binding_limit)} binds")


def _said(one: FinishPlan) -> str:
    functions = f"{count(one.functions)} function{'' if one.functions == 1 else 's'}"
    return f"{duration(one.seconds)} for {money(one.dollars, 0.0)} with {functions}"


def binds(limit: Limit) -> str:
    """The limit as words."""
    return f"{limit} limit" if limit in (Limit.CLIENT, Limit.IOPS) else str(limit)


def _row(one: FinishPlan, finish: Finish) -> tuple[str, ...]:
    return (
        count(one.functions),
        f"{one.shard_seconds:g}",
        duration(one.seconds),
        clock(one.ends_at),
        money(one.dollars, 0.0),
        binds(one.binding_limit),
        "taken" if is_taken(one, finish) else "",
    )
