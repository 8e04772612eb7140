"""The commands ``schedule add``, ``list``, ``show``, ``pause``, ``resume``, ``run`` and ``remove``."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.arguments import check_request, read_request
from fanout_cli.commands.run_commands import (
    JsonOption,
    LocalOption,
    StackOption,
    StateOption,
    WatchOption,
    begin,
    command,
)
from fanout_cli.runs.listed import last_runs
from fanout_cli.runs.progress import dump
from fanout_cli.runs.run_ids import new_run_id, scheduled_run_id
from fanout_cli.runs.runs import start_run
from fanout_cli.schedules.schedule import DISABLED, ENABLED, Schedule, check_name, input_of, new_document
from fanout_cli.schedules.schedules import Schedules
from fanout_cli.schedules.shown import ShownSchedule, details, plain, show
from fanout_cli.schedules.times import times_of
from fanout_cli.stacks import find_stack
from fanout_cli.terminal import Terminal

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name, which its runs carry")]


def add(
    name: NameArgument,
    request: Annotated[
        Path, typer.Argument(metavar="REQUEST.json", help="A file that holds the request, or - for standard input")
    ],
    cron: Annotated[
        str | None, typer.Option(help="Minutes, hours, day of month, month, day of week, year: '0 3 * * ? *'")
    ] = None,
    rate: Annotated[str | None, typer.Option(help="How often, beginning at once: '6 hours', '1 day'")] = None,
    at: Annotated[str | None, typer.Option(help="Once, at this time: 2027-01-31T03:00:00")] = None,
    timezone: Annotated[str, typer.Option(help="The time zone of --cron and --at, for example Europe/Berlin")] = "UTC",
    window_minutes: Annotated[
        int, typer.Option(min=0, max=1440, help="Minutes after its time within which a run may start")
    ] = 0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a schedule of this name; a paused one stays paused")
    ] = False,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Add a schedule: from then on it starts the request at its times."""
    console = Terminal(stderr=True)
    with command(console):
        check_name(name)
        document = read_request(request)
        check_request(document)
        times = times_of(cron, rate, at, timezone, datetime.now(UTC))
        found = find_stack(stack, local, state)
        schedules = Schedules.of(found)
        target = {"RoleArn": schedules.role_arn, "Input": input_of(found.state_machine_arn, name, document)}
        description = f"Starts runs of {found.stack_name}; added by fanout schedule"
        made = new_document(name, schedules.group, times, window_minutes, target, description)
        known = schedules.find(name) if replace else None
        if known is None:
            schedules.create(made)
        else:
            schedules.update({**made, "State": known.state})
        _show_one(schedules, schedules.get(name), json_output, console)


def list_(
    stack: StackOption = None, local: LocalOption = False, json_output: JsonOption = False, state: StateOption = None
) -> None:
    """The schedules of a stack, with their next and last runs."""
    console = Terminal(stderr=True)
    with command(console):
        schedules = Schedules.of(find_stack(stack, local, state))
        shown = _shown(schedules, schedules.every())
        if json_output:
            sys.stdout.write(dump([one.document() for one in shown]) + "\n")
        elif sys.stdout.isatty():
            show(shown, Terminal())
        else:
            for line in plain(shown):
                typer.echo(line)


def show_(
    name: NameArgument,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """A schedule with its request, its next times and its last run."""
    console = Terminal(stderr=True)
    with command(console):
        schedules = Schedules.of(find_stack(stack, local, state))
        _show_one(schedules, schedules.get(name), json_output, console, whole=True)


def pause(
    name: NameArgument,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Let a schedule start nothing until it is resumed; a run that goes on goes on."""
    _set_state(name, DISABLED, stack, local, json_output, state)


def resume(
    name: NameArgument,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Let a paused schedule start runs again; what it missed is not made up for."""
    _set_state(name, ENABLED, stack, local, json_output, state)


def run(
    name: NameArgument,
    stack: StackOption = None,
    local: LocalOption = False,
    watch: WatchOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Start the request of a schedule now, paused or not."""
    console = Terminal(stderr=True)
    with command(console):
        found = find_stack(stack, local, state)
        request = Schedules.of(found).get(name).request
        run_id = new_run_id(scheduled_run_id(name, "run"))
        begin(found, lambda: start_run(found, request, run_id), watch, json_output, console)


def remove(
    name: NameArgument,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Remove a schedule; its runs stay, and one that goes on goes on."""
    console = Terminal(stderr=True)
    with command(console):
        Schedules.of(find_stack(stack, local, state)).remove(name)
        if json_output:
            sys.stdout.write(dump({"name": name, "removed": True}) + "\n")
        console.print(f"{name} is removed; its runs stay", soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = typer.Typer(
        rich_markup_mode="rich", no_args_is_help=True, help="Transfers with names, each started at its times."
    )
    for function in (add, list_, show_, pause, resume, run, remove):
        group.command(name=function.__name__.removesuffix("_"))(function)
    app.add_typer(group, name="schedule")


def _set_state(name: str, wanted: str, stack: str | None, local: bool, json_output: bool, state: Path | None) -> None:
    console = Terminal(stderr=True)
    with command(console):
        schedules = Schedules.of(find_stack(stack, local, state))
        schedule = schedules.get(name)
        if schedule.state != wanted:
            schedules.update(schedule.with_state(wanted))
            schedule = schedules.get(name)
        _show_one(schedules, schedule, json_output, console)


def _show_one(
    schedules: Schedules, schedule: Schedule, json_output: bool, console: Terminal, *, whole: bool = False
) -> None:
    [shown] = _shown(schedules, [schedule])
    if json_output:
        sys.stdout.write(dump(shown.document()) + "\n")
        return
    for line in details(shown):
        console.print(line, soft_wrap=True)
    if whole:
        console.print(f"request: {json.dumps(shown.request)}", soft_wrap=True)


def _shown(schedules: Schedules, found: list[Schedule]) -> list[ShownSchedule]:
    now, last = datetime.now(UTC), last_runs(schedules.stack, {one.name for one in found})
    return [ShownSchedule(one, one.upcoming(now), last.get(one.name)) for one in found]
