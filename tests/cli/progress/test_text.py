"""Progress in words: a line of phases, what stands beside it, and how it fits into a narrow terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.model.books import Count
from fanout.shards.held import HeldProgress
from fanout.turns.waiting import Waiting
from fanout_cli.progress.run_progress import PhaseState, RunLook, RunProgress, progress_of
from fanout_cli.progress.text import clipped, details, duration, failures_line, fitted, line_of, percent, phases_line

COURSE = ("plan", "list", "copy", "finish", "summarise")


def phases(now: str, course: tuple[str, ...] = COURSE) -> tuple[PhaseState, ...]:
    at = course.index(now)
    return tuple(PhaseState(name, "done" if n < at else "now" if n == at else "next") for n, name in enumerate(course))


COPYING = RunProgress(
    phases("copy"),
    "copy",
    Count(20_210, 80_000_000),
    done=Count(12_530, 50_000_000),
    total=Count(20_210, 80_000_000),
    share=0.629,
    entries_per_second=417.3,
    bytes_per_second=1.6e6,
    eta_seconds=22.0,
    workers=2,
)
WAITING = replace(
    COPYING,
    phases=phases("plan"),
    phase="plan",
    share=None,
    waiting=Waiting("slow1", "efs://data/slow", "copy", 1_000.0, 3, 1_240.0),
)


def test_a_paused_run_says_until_when() -> None:
    paused = replace(COPYING, paused_until="22:00 Europe/Berlin", eta_seconds=None)
    assert details(paused)[0] == "paused until 22:00 Europe/Berlin"
    assert "paused until 22:00 Europe/Berlin" in line_of(paused)
    assert not any("left" in part for part in details(paused))


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (COPYING, "plan ok | list 20,210 | copy 62% | next: finish, summarise"),
        (RunProgress(phases("plan"), "plan", Count()), "plan ... | next: list, copy, finish, summarise"),
        (RunProgress(phases("list"), "list", Count()), "plan ok | list ... | next: copy, finish, summarise"),
        (RunProgress(phases("list"), "list", Count(9_000, 1)), "plan ok | list 9,000 | next: copy, finish, summarise"),
        (
            RunProgress(phases("finish"), "finish", Count(7, 1)),
            "plan ok | list 7 | copy ok | finish ... | next: summarise",
        ),
        (
            RunProgress(phases("summarise"), "summarise", Count()),
            "plan ok | list 0 | copy ok | finish ok | summarise ...",
        ),
    ],
)
def test_the_line_of_phases(progress: RunProgress, line: str) -> None:
    assert phases_line(progress) == line


def test_what_stands_beside_it() -> None:
    assert ", ".join(details(COPYING)) == (
        "22 s left, 12,530 of 20,210 entries, 47.7 MiB of 76.3 MiB, 417 entries/s, 1.53 MiB/s, 2 workers"
    )
    assert details(replace(COPYING, eta_seconds=None, workers=1))[0] == "12,530 of 20,210 entries"
    assert details(replace(COPYING, workers=1))[-1] == "1 worker"
    one_big_file = replace(COPYING, done=Count(0, 2**30), total=Count(0, 2**31), entries_per_second=None)
    assert details(one_big_file)[1] == "1 GiB of 2 GiB"
    listing = RunProgress(phases("list"), "list", Count(9, 9), segments=37, total_segments=64, workers=40)
    assert details(listing) == ["37 of 64 segments", "40 workers"]


def test_a_run_that_waits_says_for_whom_and_until_when() -> None:
    assert details(WAITING) == ["waiting for slow1, which writes efs://data/slow"]
    assert line_of(WAITING, 1_180.0) == (
        "plan ... | next: list, copy, finish, summarise; waiting for slow1, which writes efs://data/slow; "
        "for 3 min so far, next try within 60 s"
    )
    hostile = replace(WAITING, waiting=Waiting("a\x1b[2J", "efs://data/\u202e", "copy", 0.0, 1, 1.0))
    assert details(hostile) == ["waiting for a\\x1b[2J, which writes efs://data/\\u202e"]


def test_failures_are_named_by_the_words_of_their_reasons_the_most_frequent_first() -> None:
    assert failures_line(COPYING) == ""
    found = {"CHECKSUM": 2, "SOURCE_CHANGED": 1_200, "rejected by the listing": 5, "TRANSIENT": 1, "DIFFERS": 1}
    line = failures_line(replace(COPYING, failures=found))
    assert line.startswith("1,209 failed so far: source changed 1,200, rejected by the listing 5, ")
    assert line.endswith(", 2 more reasons")


def test_all_of_it_in_one_line() -> None:
    line = line_of(replace(COPYING, failures={"SOURCE_CHANGED": 3}))
    assert line == "; ".join([phases_line(COPYING), ", ".join(details(COPYING)), "3 failed so far: source changed 3"])


@given(st.lists(st.text(min_size=1, max_size=30), max_size=6), st.integers(0, 100))
def test_no_line_is_wider_than_the_terminal(parts: list[str], width: int) -> None:
    assert len(fitted(parts, width)) <= width
    assert all(len(clipped(part, width)) <= width for part in parts)


def test_in_a_narrow_terminal_what_matters_most_is_kept() -> None:
    parts = details(COPYING)
    assert fitted(parts, 200) == ", ".join(parts)
    assert fitted(parts, 75) == "22 s left, 12,530 of 20,210 entries, 47.7 MiB of 76.3 MiB, 417 entries/s"
    assert fitted(parts, 50) == "22 s left, 12,530 of 20,210 entries"
    assert fitted(parts, 20) == "22 s left"
    assert fitted(parts, 6) == "22 ..."


def test_a_share_is_rounded_down_and_seconds_are_said_as_people_do() -> None:
    assert [percent(share) for share in (0.0, 0.629, 0.9999, 1.0)] == ["0%", "62%", "99%", "100%"]
    said = {0.4: "0 s", 89: "89 s", 90: "2 min", 5_399: "90 min", 5_400: "1 h 30 min", 7_260: "2 h 01 min"}
    assert {seconds: duration(seconds) for seconds in said} == said


def held(hours: float) -> HeldProgress:
    return HeldProgress(
        at=0.0,
        round=1,
        cursor=0,
        left=["a"],
        ready=[],
        asked={"GLACIER": Count(12_000, 5 << 40)},
        refused=0,
        missed=0,
        waiting=Count(12_000, 5 << 40),
        asked_at=76_200.0,
        expected_at=76_200.0 + hours * 3600,
        ends_at=76_200.0 + 2 * hours * 3600,
    )


@pytest.mark.parametrize(
    ("hours", "text"),
    [(1.0, "asked 21:10, expected by 22:10 UTC"), (12.0, "asked 1970-01-01 21:10, expected by 1970-01-02 09:10 UTC")],
)
def test_a_run_that_waits_for_an_archive_says_for_what_and_until_when(hours: float, text: str) -> None:
    look = RunLook(0.0, began={"plan": 0.0, "list": 1.0, "copy": 2.0}, held=held(hours))
    progress = progress_of(look)
    (told,) = details(progress, 80_000.0)
    assert told == f"waiting for 12,000 objects (5 TiB) from the archive, {text}"
    assert progress.eta_seconds is None
    assert progress.document()["restores"]["expected_at"] == 76_200.0 + hours * 3600
    assert "restores" not in progress_of(replace(look, held=None)).document()
