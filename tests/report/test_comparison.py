"""This run compared with the one before it: the rows by mode, and how a change is shown."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fanout.books.summary_document import Planned, Status, SummaryDocument, figures_of, totals_of
from fanout.model.books import Books, Count
from fanout.model.outcome import Result
from fanout.report.comparison import change, compared
from fanout.request.course import Mode
from tests.support.summaries import summary_of


@pytest.mark.parametrize(
    ("this", "before", "told"),
    [
        (100, 100, ""),
        (100, 0, ""),
        (0, 0, ""),
        (0, 10, "\u2212100 %"),
        (150, 100, "+50 %"),
        (50, 100, "\u221250 %"),
        (1_000_001, 1_000_000, "< 1 %"),
        (999, 100, "+899 %"),
        (1_000, 100, "10 times"),
        (0.02, 0.01, "+100 %"),
    ],
)
def test_a_change_is_told_in_percent_or_as_a_factor(this: float, before: float, told: str) -> None:
    assert change(this, before) == told


def run(mode: Mode, copied: int, seconds: float, **fields: object) -> SummaryDocument:
    results = {Result.COPIED: Count(copied, copied * 1024), Result.UNCHANGED: Count(10, 10), Result.FAILED: Count(2, 2)}
    books = Books().plus(Count(copied + 12, 0), {**results, Result.DELETED: Count(3, 0)})
    return summary_of(mode=mode, totals=totals_of(books), seconds={"copy": seconds}, **fields)


def rows(mode: Mode, **fields: object) -> dict[str, tuple[str, str, str]]:
    before = replace(figures_of(run(mode, 8, 20.0, **fields)), run_id="run-0", dollars=0.04)
    summary = run(mode, 4, 30.0, **fields, earlier=before)
    found = compared(summary, figures_of(summary))
    assert found is not None and found.earlier is before
    return {row.name: (row.this, row.before, row.change) for row in found.rows}


def test_a_copy_shows_both_runs_figures() -> None:
    assert rows(Mode.COPY) == {
        "Listed": ("16", "20", "\u221220 %"),
        "Copied": ("4", "8", "\u221250 %"),
        "Copied, size": ("4 KiB", "8 KiB", "\u221250 %"),
        "Failed or rejected": ("2", "2", ""),
        "Took": ("30.0 s", "20.0 s", "+50 %"),
        "Counted cost": ("", "$0.04", ""),
    }


@pytest.mark.parametrize(
    ("mode", "name", "this"), [(Mode.SYNC, "Deleted", "3"), (Mode.VERIFY, "Equal", "10"), (Mode.PLAN, "To copy", "7")]
)
def test_a_mode_shows_its_own_work(mode: Mode, name: str, this: str) -> None:
    planned = Planned(Count(7, 70), None, None, 1.0) if mode is Mode.PLAN else None
    assert rows(mode, planned=planned)[name] == (this, this, "")


def test_without_an_earlier_run_there_is_no_table() -> None:
    summary = run(Mode.COPY, 4, 30.0)
    assert compared(summary, figures_of(summary)) is None


def test_a_change_that_the_shown_figures_do_not_show_is_none() -> None:
    assert rows(Mode.COPY)["Failed or rejected"] == ("2", "2", "")
    summary = run(Mode.COPY, 4, 30.001, earlier=figures_of(run(Mode.COPY, 4, 30.0)))
    found = compared(summary, figures_of(summary))
    assert found is not None and [row.change for row in found.rows] == [""] * len(found.rows)


def test_figures_are_those_of_the_summary() -> None:
    figures = figures_of(run(Mode.COPY, 4, 30.0, status=Status.FAILED_WITH_ITEMS))
    assert (figures.status, figures.seconds, figures.to_copy, figures.dollars) == (
        "FAILED_WITH_ITEMS",
        30.0,
        None,
        None,
    )
    assert figures.totals.copied == Count(4, 4096)
