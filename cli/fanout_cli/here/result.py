"""The end of a run on this machine, for people and as JSON, and the next step."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from fanout.books.step import NextStep, Verb
from fanout.books.summary_document import Status
from fanout.ledger.objects import START_AGAIN
from fanout.model.errors import InvalidRequest
from fanout.runtime.embedded.engine import Ended
from fanout_cli.here.ends import in_paths
from fanout_cli.here.ledger import HereLedger
from fanout_cli.here.on_aws import on_aws
from fanout_cli.runs.advice import next_step_of, stopped_step_of
from fanout_cli.runs.ending import say_result, so_far
from fanout_cli.runs.results import RunResult, refused, result_of
from fanout_cli.runs.runs import with_ledger
from fanout_cli.runs.work_bucket import dump
from fanout_cli.terminal import Terminal

_STATUS = {Status.SUCCEEDED.value: "SUCCEEDED", Status.SKIPPED.value: "SUCCEEDED"}
SayPlain = Callable[[str], None]


def result_here(ledger: HereLedger, run_id: str, ended: Ended, seconds: float | None = None) -> RunResult:
    """The result of a run that has ended; ``seconds`` are those of the whole command, where this one carried it out."""
    run = {"status": ended.status, "error": ended.error, "cause": ended.cause}
    total = {"total": seconds} if seconds is not None else {"total": 0.0}
    result = result_of(run, run_id, ledger.brought(run_id), total)
    if seconds is None:
        result = replace(result, engine_seconds=None)
    error = {name: in_paths(text) for name, text in result.error.items()} if result.error else None
    return with_ledger(replace(result, error=error, is_local=True), ledger.of_run(run_id))


def say_end(
    ledger: HereLedger,
    result: RunResult,
    json_output: bool,
    console: Terminal,
    say: SayPlain,
    *,
    in_lines: bool = False,
) -> None:
    """Print the verdict, the figures, where the report is, and the next step; ``in_lines`` the JSON is one line."""
    say_result(result, console)
    if line := _compared(ledger, result):
        say(line)
    if json_output:
        document = {"kind": "result", **result.document()} if in_lines else result.document()
        sys.stdout.write((json.dumps(document) if in_lines else dump(document)) + "\n")
    elif result.paths.get("report"):
        say(f"report: {result.paths['report']}")
    if result.failed_paths:
        outcomes = " ".join(f"--outcome {one}" for one in sorted({one.outcome.value for one in result.classes}))
        say(f"all of them: fanout local entries {result.run_id} {outcomes}{ledger.words}")
    holder = result.skipped["holder"] if result.skipped else ""
    _say_step(ledger, str(result.run_id), _step(ledger, result), say, holder)


def say_report(
    ledger: HereLedger, run: str | None, json_output: bool, console: Terminal, *, in_lines: bool = False
) -> RunResult:
    """Print the end of a run that is named, or of the newest one. Raises ``CommandError`` while it is at work."""
    run_id = ledger.found(run)
    ledger.refuse_at_work(run_id)
    summary = ledger.summary(run_id)
    ended = Ended("ABORTED") if summary is None else Ended(_STATUS.get(summary["status"], "FAILED"))
    result = result_here(ledger, run_id, ended)
    say_end(ledger, result, json_output, console, lambda text: say_plainly(console, text), in_lines=in_lines)
    return result


def say_plainly(console: Terminal, text: str) -> None:
    """Print a line as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def say_refused(error: InvalidRequest, json_output: bool, console: Terminal) -> int:
    """Print why no run was started for a request; returns the exit status."""
    result = refused(error)
    say_result(result, console)
    if json_output:
        sys.stdout.write(dump(result.document()) + "\n")
    return result.exit_status


def say_stopped(ledger: HereLedger, run_id: str, say: SayPlain) -> None:
    """Print how far a run came that was stopped, and how to go on."""
    say(f"{run_id} is stopped")
    if reached := so_far(ledger.of_run(run_id)):
        say(reached)
    _say_step(ledger, run_id, stopped_step_of(ledger.mode(run_id)), say)


def _compared(ledger: HereLedger, result: RunResult) -> str:
    """The line about AWS, of a run that has ended well."""
    run_id = str(result.run_id)
    asked, summary = ledger.asked(run_id), ledger.summary(run_id)
    whole = result.error is None and asked is not None and summary is not None and summary["forecast"] is not None
    return on_aws(asked, summary) if whole else ""


def _step(ledger: HereLedger, result: RunResult) -> NextStep:
    """The next step; a run that could not go on with another one is begun anew, whatever broke it off."""
    if result.error is not None and START_AGAIN in result.error["message"]:
        return NextStep("start the request again; it lists both ends anew", Verb.AGAIN)
    return next_step_of(result, ledger.mode(str(result.run_id)))


def _say_step(ledger: HereLedger, run_id: str, step: NextStep, say: SayPlain, holder: str = "") -> None:
    if step.verb is Verb.NONE:
        return
    say(f"next: {step.text}")
    asked: Any = ledger.asked(run_id) if step.verb.names_ends else None
    if command := step.command(run_id, holder, asked):
        say(f"  {command.replace('fanout ', 'fanout local ', 1)}{ledger.words}")
