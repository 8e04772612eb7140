"""The answers of ``fanout schedule``: one schedule, or all of them, each with its last run."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

from fanout_cli.runs.listed import last_runs
from fanout_cli.runs.progress import dump
from fanout_cli.schedules.schedule import Schedule
from fanout_cli.schedules.schedules import Schedules
from fanout_cli.schedules.shown import ShownSchedule, details
from fanout_cli.terminal import Terminal


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
