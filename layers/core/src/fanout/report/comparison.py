"""This run compared with the one before it: the figures of both, and by how much they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import Struct

from fanout.books.summary_document import EarlierRun, SummaryDocument
from fanout.model.books import Count
from fanout.report.text import count, dollars, duration, size
from fanout.request.course import Mode

N = TypeVar("N", int, float)
# Chosen: from this factor on a change is a factor, not percent.
_FACTOR = 10.0


class Figure(Struct, frozen=True):
    """A figure of both runs as text, and its change; empty where a run has none or there is no change to tell."""

    name: str
    this: str
    before: str
    change: str


class Comparison(Struct, frozen=True):
    """The run before, and the rows of the table."""

    earlier: EarlierRun
    rows: list[Figure]


def compared(summary: SummaryDocument, this: EarlierRun) -> Comparison | None:
    """The table, with the figures of this run; ``None`` where no earlier run is on record."""
    earlier = summary.earlier
    return None if earlier is None else Comparison(earlier, list(_rows(summary.mode, this, earlier)))


def _rows(mode: Mode, this: EarlierRun, before: EarlierRun) -> Iterator[Figure]:
    yield _row("Listed", this.totals.listed.entries, before.totals.listed.entries, count)
    name = {"verify": "Equal", "plan": "To copy"}.get(mode.course.work, "Copied")
    done, done_before = _done(mode, this), _done(mode, before)
    yield _row(name, done.entries, done_before.entries, count)
    yield _row(f"{name}, size", done.bytes, done_before.bytes, size)
    if mode.course.deletes:
        yield _row("Deleted", this.totals.deleted.entries, before.totals.deleted.entries, count)
    yield _row("Failed or rejected", _bad(this), _bad(before), count)
    yield _row("Took", this.seconds, before.seconds, duration)
    if this.dollars is not None or before.dollars is not None:
        yield _row("Counted cost", this.dollars, before.dollars, dollars)


def _done(mode: Mode, run: EarlierRun) -> Count:
    """The work of a run of this mode."""
    if mode.course.plans:
        return run.to_copy or Count()
    return run.totals.unchanged if mode.course.compares else run.totals.copied


def _bad(run: EarlierRun) -> int:
    return run.totals.failed.entries + run.totals.rejected.entries


def _row(name: str, this: N | None, before: N | None, show: Callable[[N], str]) -> Figure:
    shown = ["" if value is None else show(value) for value in (this, before)]
    changed = "" if this is None or before is None or shown[0] == shown[1] else change(this, before)
    return Figure(name, shown[0], shown[1], changed)


def change(this: float, before: float) -> str:
    """The change in percent, or as a factor where it is large; empty without one, or where there was nothing before."""
    if this == before or not before:
        return ""
    ratio = this / before
    if ratio >= _FACTOR:
        return f"{ratio:,.0f} times"
    percent = round((ratio - 1) * 100)
    return "< 1 %" if not percent else f"{percent:+d} %".replace("-", "\u2212")
