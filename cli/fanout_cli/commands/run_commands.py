"""The commands about runs of a stack: start, watch, report, list, stop, retry."""

from __future__ import annotations

import json
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fanout.model.errors import FanoutError
from fanout_cli.arguments import check_request, read_request
from fanout_cli.command_error import EXIT_INTERRUPTED, CommandError, human_errors
from fanout_cli.local.errors import LocalRunError
from fanout_cli.runs.advice import changes_of, retry_run, say_step, step_after, step_after_stop
from fanout_cli.runs.ending import say_result
from fanout_cli.runs.listed import list_runs, plain, show
from fanout_cli.runs.progress import dump
from fanout_cli.runs.reports import bring_report
from fanout_cli.runs.results import RunResult
from fanout_cli.runs.runs import describe_run, newest_run, result_of_run, start_run, stop_run
from fanout_cli.runs.watch import watch_run
from fanout_cli.stacks import Stack, find_stack
from fanout_cli.terminal import Terminal

EXIT_COMMAND = 2

RunArgument = Annotated[
    str | None, typer.Argument(metavar="RUN", show_default=False, help="The run's id; default: the newest run")
]
StackOption = Annotated[
    str | None, typer.Option(help="Name of the CloudFormation stack; default: FANOUT_STACK, or fanout")
]
LocalOption = Annotated[bool, typer.Option("--local", help="The stack on this machine, which `fanout up` started")]
StateOption = Annotated[Path | None, typer.Option(help="Where the local stack keeps its state")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document")]
WatchOption = Annotated[bool, typer.Option("--watch", help="Follow the run until it ends")]


@contextmanager
def command(console: Terminal) -> Iterator[None]:
    """Ends a command that cannot do its work with one sentence and exit status 2."""
    try:
        with human_errors():
            yield
    except (CommandError, LocalRunError, FanoutError) as error:
        console.say_error(error)
        raise typer.Exit(EXIT_COMMAND) from error


def start(
    request: Annotated[
        Path, typer.Argument(metavar="REQUEST.json", help="A file that holds the request, or - for standard input")
    ],
    stack: StackOption = None,
    local: LocalOption = False,
    watch: WatchOption = False,
    name: Annotated[str, typer.Option(help="The run's id; default: the mode and the time")] = "",
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Start a run. Without --watch it returns at once, with status 0."""
    console = Terminal(stderr=True)
    with command(console):
        document = read_request(request)
        check_request(document)
        found = find_stack(stack, local, state)
        begin(found, lambda: start_run(found, document, name), watch, json_output, console)


def retry(
    run: RunArgument = None,
    stack: StackOption = None,
    local: LocalOption = False,
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
    """Go on with an earlier run: a copy without listing its source again, any other from its stored request."""
    console = Terminal(stderr=True)
    with command(console):
        found = find_stack(stack, local, state)
        earlier = run or newest_run(found)
        other = changes_of(changes or ())
        begin(found, lambda: retry_run(found, earlier, name, again=again, changes=other), watch, json_output, console)


def watch(
    run: RunArgument = None,
    stack: StackOption = None,
    local: LocalOption = False,
    json_output: JsonOption = False,
    state: StateOption = None,
) -> None:
    """Follow a run until it ends; Ctrl-C leaves it going. Status: 0 succeeded, 1 failed, 2 invalid, 3 skipped."""
    console = Terminal(stderr=True)
    with command(console):
        found = find_stack(stack, local, state)
        _follow(found, run or newest_run(found), json_output, console, in_lines=json_output)


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
    console = Terminal(stderr=True)
    with command(console):
        found = find_stack(stack, local, state)
        run = run or newest_run(found)
        paths = bring_report(found, run, output or Path(f"fanout-{run}"))
        result = replace(result_of_run(found, run, {"status": _status_of(paths)}), paths=paths)
        if open_page:
            webbrowser.open(Path(paths["report"]).resolve().as_uri())
        _show(result, json_output, console)
        _say_next(found, result, console)
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
    console = Terminal(stderr=True)
    with command(console):
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
    console = Terminal(stderr=True)
    with command(console):
        found = find_stack(stack, local, state)
        run = run or newest_run(found)
        stopped = stop_run(found, run)
        if json_output:
            sys.stdout.write(dump({"run_id": run, "stopped": stopped}) + "\n")
        what = "is stopped; functions at work end within 15 minutes" if stopped else "had ended already"
        _say(console, f"{run} {what}")
        if stopped and (reached := _ended(found, run).so_far):
            _say(console, reached)
        if stopped:
            say_step(found, run, step_after_stop(found, run), "", lambda text: _say(console, text))
        else:
            _say_next(found, _ended(found, run), console)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for function in (start, watch, report, stop, retry):
        app.command()(function)
    app.command(name="list")(list_)


def begin(
    stack: Stack, start: Callable[[], str], watching: bool, json_output: bool, console: Console, *, bring: bool = False
) -> None:
    """Start a run and say how to follow it; or follow it to its end, and ``bring`` its report."""
    run_id = start()
    _say(console, f"{run_id} runs on the {'local stack' if stack.name == 'local' else f'stack {stack.name}'}")
    if watching:
        _follow(stack, run_id, json_output, console, bring=bring)
    if json_output:
        sys.stdout.write(dump({"run_id": run_id, "execution_arn": stack.execution_arn(run_id)}) + "\n")
    else:
        _say(console, f"follow it: {stack.command('watch', run_id)}")


def _follow(
    stack: Stack, run_id: str, json_output: bool, console: Console, *, in_lines: bool = False, bring: bool = False
) -> None:
    """Follow a run to its end; ``in_lines`` its progress is on standard output, and its result the last line.

    ``bring`` brings its report too.
    """
    try:
        describe_run(stack, run_id)  # says so before anything else if there is no such run
        _say(console, f"watching {run_id}; Ctrl-C leaves it going")
        described = watch_run(stack, run_id, console, sys.stdout if in_lines else None)
        result = result_of_run(stack, run_id, described)
        if bring:
            result = replace(result, paths=_report_paths(stack, run_id))
    except KeyboardInterrupt:
        _say(console, f"{run_id} was not stopped; come back: {stack.command('watch', run_id)}")
        _say(console, f"end it: {stack.command('stop', run_id)}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    _show(result, json_output, console, in_lines=in_lines)
    _say_next(stack, result, console)
    raise typer.Exit(result.exit_status)


def _report_paths(stack: Stack, run_id: str) -> dict[str, str]:
    """The files of the run's report, brought here; none where it has none, of which the error says why."""
    try:
        return bring_report(stack, run_id, Path(f"fanout-{run_id}"))
    except CommandError:
        return {}


def _ended(stack: Stack, run_id: str) -> RunResult:
    return result_of_run(stack, run_id, describe_run(stack, run_id))


def _say_next(stack: Stack, result: RunResult, console: Console) -> None:
    holder = result.skipped["holder"] if result.skipped else ""
    step = step_after(stack, result)
    say_step(stack, str(result.run_id), step, holder, lambda text: _say(console, text))


def _status_of(paths: dict[str, str]) -> str:
    status = json.loads(Path(paths["summary"]).read_bytes())["status"]
    return "SUCCEEDED" if status in ("SUCCEEDED", "SKIPPED") else "FAILED"


def _show(result: RunResult, json_output: bool, console: Console, *, in_lines: bool = False) -> None:
    say_result(result, console)
    if json_output:
        document = {"kind": "result", **result.document()} if in_lines else result.document()
        sys.stdout.write((json.dumps(document) if in_lines else dump(document)) + "\n")
    elif result.paths.get("report"):
        _say(console, f"report: {result.paths['report']}")
        if result.paths.get("deleted"):
            _say(console, f"deleted: {result.paths['deleted']}")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
