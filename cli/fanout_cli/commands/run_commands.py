"""The commands about runs of a stack: start, watch, report, list, stop, retry, limit."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from fanout_cli.commands.common_options import (
    HERE,
    DetachOption,
    JsonOption,
    RequestArgument,
    RunArgument,
    WatchOption,
    at_a_stack,
    command,
)
from fanout_cli.stacks import Where

BytesOption = Annotated[
    str | None,
    typer.Option(help='Bytes a second of all functions together, or "50 MiB"; none for no limit'),
]
FilesOption = Annotated[str | None, typer.Option(help="Entries a second of all functions together; none for no limit")]


@at_a_stack
def start(
    request: RequestArgument,
    where: Where = HERE,
    detach: DetachOption = False,
    watch: WatchOption = False,
    name: Annotated[str, typer.Option(help="The run's id; default: the mode and the time")] = "",
    json_output: JsonOption = False,
) -> None:
    """Start a run and follow it; Ctrl-C leaves it going. With --detach it returns at once, with status 0."""
    with command() as console:
        from fanout_cli.arguments import check_request, read_request
        from fanout_cli.runs.following import begin
        from fanout_cli.runs.runs import start_run

        document = read_request(request)
        check_request(document)
        found = where.find()
        begin(found, lambda: start_run(found, document, name), not detach, json_output, console, bring=True)


@at_a_stack
def retry(
    run: RunArgument = None,
    where: Where = HERE,
    detach: DetachOption = False,
    watch: WatchOption = False,
    again: Annotated[bool, typer.Option("--again", help="List again: start the stored request of a copy too")] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Start the stored request with another value, as mode=copy, or null for none; repeatable",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="The new run's id; default: retry-, and the time")] = "",
    json_output: JsonOption = False,
) -> None:
    """Go on with an earlier run: a copy from what it had listed, any other from its stored request.

    Follows the new run; Ctrl-C leaves it going.
    """
    with command() as console:
        from fanout_cli.runs.advice import changes_of, retry_run
        from fanout_cli.runs.following import begin

        found, earlier = where.find_run(run)
        other = changes_of(changes or ())
        start = lambda: retry_run(found, earlier, name, again=again, changes=other)  # noqa: E731
        begin(found, start, not detach, json_output, console, bring=True)


@at_a_stack
def watch(
    run: RunArgument = None,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Follow a run until it ends; Ctrl-C leaves it going. Exit status: docs/reference/commands.md."""
    with command() as console:
        from fanout_cli.runs.following import follow

        follow(*where.find_run(run), json_output, console, in_lines=json_output)


@at_a_stack
def report(
    run: RunArgument = None,
    where: Where = HERE,
    output: Annotated[Path | None, typer.Option(help="Directory for the files; default: fanout-RUN")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser")] = False,
    json_output: JsonOption = False,
) -> None:
    """Bring summary.json, failures.jsonl and report.html here and print the verdict."""
    with command() as console:
        from fanout_cli.runs.following import show_report

        found, run = where.find_run(run)
        result = show_report(found, run, output or Path(f"fanout-{run}"), json_output, console)
        if open_page:
            webbrowser.open(Path(str(result.paths["report"])).resolve().as_uri())
        raise typer.Exit(result.exit_status)


@at_a_stack
def list_(
    where: Where = HERE,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Runs at most")] = 20,
    schedule: Annotated[str | None, typer.Option(help="Only the runs of this schedule")] = None,
    json_output: JsonOption = False,
) -> None:
    """The newest runs of a stack."""
    with command():
        from fanout_cli.runs.listed import list_runs, plain, show
        from fanout_cli.runs.work_bucket import dump
        from fanout_cli.terminal import Terminal

        runs = list_runs(where.find(), limit, schedule)
        if json_output:
            sys.stdout.write(dump([run.document() for run in runs]) + "\n")
        elif sys.stdout.isatty():
            show(runs, Terminal())
        else:
            for line in plain(runs):
                typer.echo(line)


@at_a_stack
def stop(
    run: RunArgument = None,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Stop a run. What is copied stays; says how to go on."""
    with command() as console:
        from fanout_cli.runs import following

        following.stop(*where.find_run(run), json_output, console)


@at_a_stack
def limit(
    run: RunArgument = None,
    bytes_per_second: BytesOption = None,
    files_per_second: FilesOption = None,
    where: Where = HERE,
    json_output: JsonOption = False,
) -> None:
    """Change the rates that all functions of a run keep to, while it goes on; without any, show them."""
    with command() as console:
        from fanout_cli.runs.rates import change_limits, describe
        from fanout_cli.runs.work_bucket import dump

        found, run = where.find_run(run)
        limits = change_limits(found, run, bytes_per_second, files_per_second)
        if json_output:
            shown = {"bytes_per_second": limits.bytes_per_second, "files_per_second": limits.files_per_second}
            sys.stdout.write(dump({"run_id": run, **shown}) + "\n")
        else:
            console.print(f"{run}: {describe(limits)}", markup=False, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for function in (start, watch, report, stop, retry, limit):
        app.command()(function)
    app.command(name="list")(list_)
