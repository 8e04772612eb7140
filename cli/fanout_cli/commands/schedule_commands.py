"""The commands ``schedule add``, ``list``, ``show``, ``pause``, ``resume``, ``run`` and ``remove``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fanout_cli.commands.common_options import (
    HERE,
    DetachOption,
    JsonOption,
    RequestArgument,
    WatchOption,
    at_a_stack,
    command,
)
from fanout_cli.commands.help import CommandApp
from fanout_cli.stacks import Where

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name, which its runs carry")]


@at_a_stack
def add(
    name: NameArgument,
    request: RequestArgument,
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
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Add a schedule: from then on it starts the request at its times."""
    with command() as console:
        from datetime import UTC, datetime

        from fanout_cli.arguments import check_request, read_request
        from fanout_cli.schedules.schedule import check_name, input_of, new_document
        from fanout_cli.schedules.schedules import Schedules
        from fanout_cli.schedules.shown import show_one
        from fanout_cli.schedules.times import times_of

        check_name(name)
        document = read_request(request)
        check_request(document)
        times = times_of(cron, rate, at, timezone, datetime.now(UTC))
        found = where.find()
        schedules = Schedules.of(found)
        target = {"RoleArn": schedules.role_arn, "Input": input_of(found.state_machine_arn, name, document)}
        description = f"Starts runs of {found.stack_name}; added by fanout schedule"
        made = new_document(name, schedules.group, times, window_minutes, target, description)
        known = schedules.find(name) if replace else None
        if known is None:
            schedules.create(made)
        else:
            schedules.update({**made, "State": known.state})
        show_one(schedules, schedules.get(name), json_output, console)


@at_a_stack
def list_(where: Where = HERE, json_output: JsonOption = False) -> None:
    """The schedules of a stack, with their next and last runs."""
    with command():
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.schedules.schedules import Schedules
        from fanout_cli.schedules.shown import plain, show, shown
        from fanout_cli.terminal import Terminal

        schedules = Schedules.of(where.find())
        every = shown(schedules, schedules.every())
        if json_output:
            sys.stdout.write(dump([one.document() for one in every]) + "\n")
        elif sys.stdout.isatty():
            show(every, Terminal())
        else:
            for line in plain(every):
                typer.echo(line)


@at_a_stack
def show_(
    name: NameArgument,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """A schedule with its request, its next times and its last run."""
    with command() as console:
        from fanout_cli.schedules.schedules import Schedules
        from fanout_cli.schedules.shown import show_one

        schedules = Schedules.of(where.find())
        show_one(schedules, schedules.get(name), json_output, console, whole=True)


@at_a_stack
def pause(
    name: NameArgument,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Let a schedule start nothing until it is resumed; a run that goes on goes on."""
    _set_state(name, True, where, json_output)


@at_a_stack
def resume(
    name: NameArgument,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Let a paused schedule start runs again; what it missed is not made up for."""
    _set_state(name, False, where, json_output)


@at_a_stack
def run(
    name: NameArgument,
    where: Where = HERE,
    detach: DetachOption = False,
    watch: WatchOption = False,
    json_output: JsonOption = False,
) -> None:
    """Start the request of a schedule now, paused or not, and follow the run."""
    with command() as console:
        from fanout_cli.runs.following import begin
        from fanout_cli.runs.run_ids import new_run_id, scheduled_run_id
        from fanout_cli.runs.runs import start_run
        from fanout_cli.schedules.schedules import Schedules

        found = where.find()
        request = Schedules.of(found).get(name).request
        run_id = new_run_id(scheduled_run_id(name, "run"))
        begin(found, lambda: start_run(found, request, run_id), not detach, json_output, console)


@at_a_stack
def remove(
    name: NameArgument,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Remove a schedule; its runs stay, and one that goes on goes on."""
    with command() as console:
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.schedules.schedules import Schedules

        Schedules.of(where.find()).remove(name)
        if json_output:
            sys.stdout.write(dump({"name": name, "removed": True}) + "\n")
        console.print(f"{name} is removed; its runs stay", soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the group of commands to the application."""
    group = CommandApp(no_args_is_help=True, help="Transfers with names, each started at its times.")
    for function in (add, list_, show_, pause, resume, run, remove):
        group.command(name=function.__name__.removesuffix("_"))(function)
    app.add_typer(group, name="schedule")


def _set_state(name: str, is_paused: bool, where: Where, json_output: bool) -> None:
    with command() as console:
        from fanout_cli.schedules.schedule import DISABLED, ENABLED
        from fanout_cli.schedules.schedules import Schedules
        from fanout_cli.schedules.shown import show_one

        wanted = DISABLED if is_paused else ENABLED
        schedules = Schedules.of(where.find())
        schedule = schedules.get(name)
        if schedule.state != wanted:
            schedules.update(schedule.with_state(wanted))
            schedule = schedules.get(name)
        show_one(schedules, schedule, json_output, console)
