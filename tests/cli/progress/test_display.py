"""Progress as it is shown: on terminals of every width, as a line now and then, and as JSON lines."""

from __future__ import annotations

import io
import json

import pytest
from msgspec.structs import replace
from rich.console import Console

from fanout_cli.progress.display import JSON_SECONDS, LINE_SECONDS, JsonDisplay, LineDisplay, display_on
from tests.cli.progress.test_text import COPYING, WAITING


class Clock:
    """A clock that is told the time."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time


@pytest.mark.parametrize("width", [10, 30, 60, 80, 200])
def test_a_terminal_of_any_width_holds_every_line(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    with display_on(console) as display:
        display.show(replace(COPYING, failures={"SOURCE_CHANGED": 1_200, "CHECKSUM": 2}))
        shown = [line for line in out.getvalue().splitlines() if line.strip()]
    lines = [line.replace("\x1b[?25l", "").replace("\r", "").replace("\x1b[2K", "") for line in shown]
    assert len(lines) == 4  # phases, bar, details, failures
    assert all(len(line) <= width for line in lines)
    if width == 200:
        assert lines[0].strip() == "plan ok | list 20,210 | copy 62% | next: finish, summarise"
        assert lines[2].startswith("22 s left, 12,530 of 20,210 entries")
        assert lines[3].startswith("1,202 failed so far: source changed 1,200")


def test_without_a_terminal_there_is_a_line_every_30_seconds() -> None:
    clock, told = Clock(), list[str]()
    display = LineDisplay(told.append, clock.now, clock.now)
    for second in range(0, 95, 5):
        clock.time = float(second)
        display.show(COPYING)
    assert len(told) == 90 // LINE_SECONDS
    assert told[0].startswith("plan ok | list 20,210 | copy 62% | next: finish, summarise; 22 s left, ")
    assert all("\n" not in line for line in told)


def test_that_a_run_waits_is_said_at_once_and_then_every_30_seconds() -> None:
    clock, told = Clock(), list[str]()
    display = LineDisplay(told.append, clock.now, lambda: 1_200.0)
    for second in range(0, 65, 5):
        clock.time = float(second)
        display.show(WAITING)
    assert len(told) == 3
    assert "waiting for slow1, which writes efs://data/slow; for 3 min so far, next try within 40 s" in told[0]


def test_a_console_that_is_no_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout_cli.progress.display.LINE_SECONDS", 0.0)
    out = io.StringIO()
    with display_on(Console(file=out, width=40)) as display:
        display.show(COPYING)
    assert out.getvalue().count("\n") == 1
    assert "\x1b" not in out.getvalue()


def test_json_lines_are_objects_that_say_when() -> None:
    clock, out = Clock(), io.StringIO()
    display = JsonDisplay(out, clock.now, lambda: 1_000_000.0)
    for second in range(11):
        clock.time = float(second)
        display.show(COPYING)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(lines) == 1 + 10 // JSON_SECONDS
    assert {line["kind"] for line in lines} == {"progress"}
    assert (lines[0]["at"], lines[0]["phase"], lines[0]["eta_seconds"]) == ("1970-01-12T13:46:40Z", "copy", 22.0)


def test_json_lines_leave_the_console_alone() -> None:
    out, lines = io.StringIO(), io.StringIO()
    with display_on(Console(file=out, force_terminal=True), lines) as display:
        display.show(COPYING)
    assert out.getvalue() == ""
    assert json.loads(lines.getvalue())["total"]["entries"] == 20_210
