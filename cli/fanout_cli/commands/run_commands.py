"""The commands about runs of a stack: start, watch, report, list, stop, retry."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.commands.shared import (
    DetachOption,
    JsonOption,
    LocalOption,
    RequestArgument,
    RunArgument,
    StackOption,
    StateOption,
    WatchOption,
    command,
)
from fanout_cli.stacks import find_stack


def start(
    request: RequestArgument,
    stack: StackOption = None,
    local: LocalOption = False,
    detach: DetachOption = False,
    watch: WatchOption = False,
    name: Annotated[str, typer.Option(help="The run's id; default: the mode and the time")] = "",
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Start a run and follow it; Ctrl-C leaves it going. With --detach it returns at once, with status 0."""
    with command() as console:
        from fanout_cli.arguments import check_request, read_request
        from fanout_cli.runs.following import begin
        from fanout_cli.runs.runs import start_run

        document = read_request(request)
        check_request(document)
        found = find_stack(stack, local, state)
        begin(found, lambda: start_run(found, document, name), not detach, json_output, console, bring=True)


def retry(
    run: RunArgument = None,
    stack: StackOption = None,
    local: LocalOption = False,
    detach: DetachOption = False,
    watch: WatchOption = False,
    again: Annotated[bool, typer.Option("--again", help="List again: start the stored request of a copy too")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Start the stored request with another value, as mode=copy; repeatable"
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="The new run's id; default: retry-, and the time")] = "",
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Go on with an earlier run: a copy from what it had listed, any other from its stored request.

    Follows the new run; Ctrl-C leaves it going.
    """
    with command() as console:
        from fanout_cli.runs.advice import changes_of, retry_run
        from fanout_cli.runs.following import begin
        from fanout_cli.runs.runs import newest_run

        found = find_stack(stack, local, state)
        earlier = run or newest_run(found)
        other = changes_of(changes or ())
        start = lambda: retry_run(found, earlier, name, again=again, changes=other)  # noqa: E731
        begin(found, start, not detach, json_output, console, bring=True)


def watch(
    run: RunArgument = None,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Follow a run until it ends; Ctrl-C leaves it going. Status: 0 succeeded, 1 failed, 2 invalid, 3 skipped."""
    with command() as console:
        from fanout_cli.runs.following import follow
        from fanout_cli.runs.runs import newest_run

        found = find_stack(stack, local, state)
        follow(found, run or newest_run(found), json_output, console, in_lines=json_output)


def report(
    run: RunArgument = None,
    stack: StackOption = None,
    local: LocalOption = False,
    output: Annotated[Path | None, typer.Option(help="Directory for the files; default: fanout-RUN")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser")] = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Bring summary.json, failures.jsonl and report.html here and print the verdict."""
    with command() as console:
        from fanout_cli.runs.following import show_report
        from fanout_cli.runs.runs import newest_run

        found = find_stack(stack, local, state)
        run = run or newest_run(found)
        result = show_report(found, run, output or Path(f"fanout-{run}"), json_output, console)
        if open_page:
            webbrowser.open(Path(str(result.paths["report"])).resolve().as_uri())
        raise typer.Exit(result.exit_status)


def list_(
    stack: StackOption = None,
    local: LocalOption = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Runs at most")] = 20,
    schedule: Annotated[str | None, typer.Option(help="Only the runs of this schedule")] = None,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """The newest runs of a stack."""
    with command():
        from fanout_cli.runs.listed import list_runs, plain, show
        from fanout_cli.runs.progress import dump
        from fanout_cli.terminal import Terminal

        runs = list_runs(find_stack(stack, local, state), limit, schedule)
        if json_output:
            sys.stdout.write(dump([run.document() for run in runs]) + "\n")
        elif sys.stdout.isatty():
            show(runs, Terminal())
        else:
            for line in plain(runs):
                typer.echo(line)


def stop(
    run: RunArgument = None,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Stop a run. What is copied stays; says how to go on."""
    with command() as console:
        from fanout_cli.runs import following
        from fanout_cli.runs.runs import newest_run

        found = find_stack(stack, local, state)
        following.stop(found, run or newest_run(found), json_output, console)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for function in (start, watch, report, stop, retry):
        app.command()(function)
    app.command(name="list")(list_)
