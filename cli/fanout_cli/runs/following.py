"""A run from its start to its end, for people: how to follow it, its result, its report and the next step."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console

from fanout.facts import aws
from fanout_cli.command_error import EXIT_INTERRUPTED, CommandError
from fanout_cli.loudness import is_quiet
from fanout_cli.progress.watch import watch_run
from fanout_cli.runs.advice import say_step, step_after, step_after_stop
from fanout_cli.runs.corrections import correction_of
from fanout_cli.runs.ending import say_result
from fanout_cli.runs.reports import bring_report
from fanout_cli.runs.results import RunResult
from fanout_cli.runs.runs import describe_run, result_of_run, stop_run
from fanout_cli.runs.work_bucket import document_in, dump
from fanout_cli.stacks import Stack


def begin(
    stack: Stack, start: Callable[[], str], watching: bool, json_output: bool, console: Console, *, bring: bool = False
) -> None:
    """Start a run and say how to follow it; or follow it to its end, and ``bring`` its report."""
    run_id = start()
    note(console, f"{run_id} runs on the {'local stack' if stack.name == 'local' else f'stack {stack.name}'}")
    if watching:
        follow(stack, run_id, json_output, console, bring=bring)
    if json_output:
        sys.stdout.write(dump({"run_id": run_id, "execution_arn": stack.execution_arn(run_id)}) + "\n")
    else:
        note(console, f"follow it: {stack.command('watch', run_id)}")


def follow(
    stack: Stack, run_id: str, json_output: bool, console: Console, *, in_lines: bool = False, bring: bool = False
) -> None:
    """Follow a run to its end; ``in_lines`` its progress is on standard output, and its result the last line.

    ``bring`` brings its report too.
    """
    try:
        describe_run(stack, run_id)  # says so before anything else if there is no such run
        note(console, f"watching {run_id}; Ctrl-C leaves it going")
        described = watch_run(stack, run_id, console, sys.stdout if in_lines else None)
        result = result_of_run(stack, run_id, described)
        if bring:
            result = replace(result, paths=_report_paths(stack, run_id))
    except KeyboardInterrupt:
        say(console, f"{run_id} was not stopped; come back: {stack.command('watch', run_id)}")
        say(console, f"end it: {stack.command('stop', run_id)}")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    _show(result, json_output, console, in_lines=in_lines)
    _say_next(stack, result, console)
    raise typer.Exit(result.exit_status)


def show_report(stack: Stack, run_id: str, directory: Path, json_output: bool, console: Console) -> RunResult:
    """Bring the report of a run into a directory, and print its verdict and the next step."""
    paths = bring_report(stack, run_id, directory)
    result = replace(result_of_run(stack, run_id, {"status": _status_of(paths)}), paths=paths)
    _show(result, json_output, console)
    _say_next(stack, result, console)
    return result


def stop(stack: Stack, run_id: str, json_output: bool, console: Console) -> None:
    """Stop a run, and say how far it came and how to go on."""
    stopped = stop_run(stack, run_id)
    if json_output:
        sys.stdout.write(dump({"run_id": run_id, "stopped": stopped}) + "\n")
    most = float(stack.parameters.get("FunctionSeconds", aws.FUNCTION_SECONDS))
    what = f"is stopped; functions at work end within {most / 60:.0f} minutes" if stopped else "had ended already"
    say(console, f"{run_id} {what}")
    if stopped and (reached := _ended(stack, run_id).so_far):
        say(console, reached)
    if stopped:
        say_step(stack, run_id, step_after_stop(stack, run_id), "", lambda text: say(console, text))
    else:
        _say_next(stack, _ended(stack, run_id), console)


def say(console: Console, text: str) -> None:
    """Print a line as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def note(console: Console, text: str) -> None:
    """Print a line that is only for who looks on."""
    if not is_quiet():
        say(console, text)


def _report_paths(stack: Stack, run_id: str) -> dict[str, str]:
    """The files of the run's report, brought here; none where it has none, of which the error says why."""
    try:
        return bring_report(stack, run_id, Path(f"fanout-{run_id}"))
    except CommandError:
        return {}


def _ended(stack: Stack, run_id: str) -> RunResult:
    return result_of_run(stack, run_id, describe_run(stack, run_id))


def _say_next(stack: Stack, result: RunResult, console: Console) -> None:
    if result.failed_paths:
        outcomes = " ".join(f"--outcome {one}" for one in sorted({one.outcome.value for one in result.classes}))
        say(console, f"all of them: {stack.command('entries', str(result.run_id))} {outcomes}")
    if result.error and (found := correction_of(stack, str(result.run_id), result.error)):
        say(console, f"next: {found.question}")
        say(console, f"  {found.command} {stack.option}")
        return
    holder = result.skipped["holder"] if result.skipped else ""
    step = step_after(stack, result)
    say_step(stack, str(result.run_id), step, holder, lambda text: say(console, text))


def _status_of(paths: dict[str, str]) -> str:
    status = document_in(Path(paths["summary"]).read_bytes(), "summary.json")["status"]
    return "SUCCEEDED" if status in ("SUCCEEDED", "SKIPPED") else "FAILED"


def _show(result: RunResult, json_output: bool, console: Console, *, in_lines: bool = False) -> None:
    say_result(result, console)
    if json_output:
        document = {"kind": "result", **result.document()} if in_lines else result.document()
        sys.stdout.write((json.dumps(document) if in_lines else dump(document)) + "\n")
    elif result.paths.get("report"):
        say(console, f"report: {result.paths['report']}")
        if result.paths.get("deleted"):
            say(console, f"deleted: {result.paths['deleted']}")
