"""Schedules for people, for a pipe and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from fanout.model.errors import InvalidRequest
from fanout.report.text import visible
from fanout_cli.runs.listed import ListedRun, last_runs
from fanout_cli.runs.work_bucket import dump
from fanout_cli.schedules.schedule import Schedule
from fanout_cli.schedules.schedules import Schedules
from fanout_cli.terminal import Terminal

COLUMNS = ("schedule", "state", "when", "next", "last", "status", "run")


@dataclass(frozen=True)
class ShownSchedule:
    """A schedule with its next times and its last run."""

    schedule: Schedule
    upcoming: tuple[datetime, ...]
    last: ListedRun | None

    @property
    def request(self) -> Any:
        """The request; ``None`` where another tool has set the target."""
        try:
            return self.schedule.request
        except InvalidRequest:
            return None

    def document(self) -> dict[str, Any]:
        """As JSON; ``request`` is ``null`` where another tool has set the target."""
        last = self.last
        return {
            "name": self.schedule.name,
            "state": self.schedule.state,
            "expression": self.schedule.expression,
            "timezone": self.schedule.time_zone,
            "window_minutes": self.schedule.window_minutes,
            "next": [time.isoformat() for time in self.upcoming],
            "last": last and {"run_id": last.run_id, "began": last.began.isoformat(), "status": last.status},
            "request": self.request,
        }

    def cells(self) -> tuple[str, ...]:
        """The row as texts, in the order of ``COLUMNS``; times in the time zone of the schedule."""
        when = f"{self.schedule.expression} {self.schedule.time_zone}"
        zone = self.upcoming[0].tzinfo if self.upcoming else None
        upcoming = _minute(self.upcoming[0]) if self.upcoming else ""
        last = self.last
        ran = (_minute(last.began.astimezone(zone)), last.status, last.run_id) if last else ("", "", "")
        return (self.schedule.name, self.schedule.state, when, upcoming, *ran)


def plain(schedules: Sequence[ShownSchedule]) -> Iterator[str]:
    """Lines with tabs between the columns; control characters are shown as escapes."""
    for cells in (COLUMNS, *(one.cells() for one in schedules)):
        yield "\t".join(visible(cell) for cell in cells)


def show(schedules: Sequence[ShownSchedule], console: Console) -> None:
    """The schedules for people: a line each, and below it the last run."""
    rows = [COLUMNS[:6], *(one.cells()[:6] for one in schedules)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        console.print(line.rstrip(), style="bold" if not number else None, soft_wrap=True)
        if number and (last := schedules[number - 1].last):
            console.print(f"  {last.run_id}", style="dim", soft_wrap=True)


def details(shown: ShownSchedule) -> Iterator[str]:
    """One schedule in lines."""
    schedule = shown.schedule
    window = f", within {schedule.window_minutes} minutes" if schedule.window_minutes else ""
    yield f"{schedule.name}: {schedule.state}"
    yield f"when: {schedule.expression} {schedule.time_zone}{window}"
    yield f"next: {', '.join(map(_minute, shown.upcoming)) or 'none'}"
    last = shown.last
    yield f"last: {last.run_id}, {last.began:%Y-%m-%d %H:%M %Z}, {last.status}" if last else "last: none"


def _minute(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M %Z}"


def show_one(
    schedules: Schedules, schedule: Schedule, json_output: bool, console: Terminal, *, whole: bool = False
) -> None:
    """Print a schedule; ``whole`` with its request."""
    [one] = shown(schedules, [schedule])
    if json_output:
        sys.stdout.write(dump(one.document()) + "\n")
        return
    for line in details(one):
        console.print(line, soft_wrap=True)
    if whole:
        console.print(f"request: {json.dumps(one.request)}", soft_wrap=True)


def shown(schedules: Schedules, found: list[Schedule]) -> list[ShownSchedule]:
    """The schedules with their next times and last runs."""
    now, last = datetime.now(UTC), last_runs(schedules.stack, {one.name for one in found})
    return [ShownSchedule(one, one.upcoming(now), last.get(one.name)) for one in found]
