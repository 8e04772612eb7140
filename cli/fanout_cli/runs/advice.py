"""The next step after a run, and the request that ``fanout retry`` starts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanout.books.next_step import EndedRun, left_of, next_step
from fanout.books.step import NextStep, Verb
from fanout.ledger.keys import PLAN, REQUEST
from fanout.request.course import RESUMABLE, Mode
from fanout.request.fields.checked import checked
from fanout.request.parse import Fields
from fanout_cli.command_error import CommandError
from fanout_cli.runs.results import RunResult
from fanout_cli.runs.run_ids import new_run_id
from fanout_cli.runs.runs import asked_of, describe_ended, read_ledger, start_run
from fanout_cli.stacks import Stack


def step_after(stack: Stack, result: RunResult) -> NextStep:
    """The next step after a run that has ended."""
    return next_step_of(result, result.mode or mode_of(stack, str(result.run_id)))


def next_step_of(result: RunResult, mode: Mode | None) -> NextStep:
    """The next step after a run of a mode, ``None`` for one without a plan."""
    error = result.error["name"] if result.error else ""
    warned, listed = bool(result.warnings), result.totals["listed"]["entries"]
    taken = listed - result.totals["skipped"]["entries"]
    return next_step(
        EndedRun(
            mode,
            result.status,
            error,
            left_of(result.classes),
            nothing_listed=warned and not listed,
            nothing_planned=result.planned is not None and not result.planned.to_copy.entries,
            nothing_taken=warned and bool(listed) and not taken,
        )
    )


def step_after_stop(stack: Stack, run_id: str) -> NextStep:
    """The next step after a run that was stopped."""
    return stopped_step_of(mode_of(stack, run_id))


def stopped_step_of(mode: Mode | None) -> NextStep:
    """The next step after a run of a mode that was stopped."""
    return next_step(EndedRun(mode, "ABORTED", "Stopped"))


def mode_of(stack: Stack, run_id: str) -> Mode | None:
    """The mode of a run that has a plan."""
    plan = read_ledger(stack, run_id, PLAN)
    request = plan.get("request") if plan else None
    return Mode(request["mode"]) if request else None


def say_step(stack: Stack, run_id: str, step: NextStep, holder: str, say: Callable[[str], None]) -> None:
    """Print what to do next, and the command that does it."""
    if step.verb is not Verb.NONE:
        say(f"next: {step.text}")
    if command := command_for(stack, run_id, step, holder):
        say(f"  {command} {stack.option}")


def command_for(stack: Stack, run_id: str, step: NextStep, holder: str) -> str:
    """The command of a step, with the ends and options of the run where it names them."""
    return step.command(run_id, holder, asked_of(stack, run_id) if step.verb.names_ends else None)


def retry_run(
    stack: Stack, run_id: str, new_id: str = "", *, again: bool = False, changes: Mapping[str, Any] | None = None
) -> str:
    """Start a run that resumes another one, or repeats its request with ``changes``; returns its id.

    ``changes`` are values by field, ``limits.max_dollars`` for one in a part. Raises ``CommandError`` if that one still
    runs, or left no request, and ``InvalidRequest`` for a change that no request may hold.
    """
    described = describe_ended(stack, run_id)
    planned = read_ledger(stack, run_id, PLAN) is not None
    again, stored = again or bool(changes), lambda: _stored_request(stack, run_id, described)
    request = request_of_retry(run_id, mode_of(stack, run_id), stored, planned=planned, again=again, changes=changes)
    return start_run(stack, request, new_id or new_run_id("retry"))


def request_of_retry(
    run_id: str,
    mode: Mode | None,
    stored: Callable[[], Any],
    *,
    planned: bool,
    again: bool = False,
    changes: Mapping[str, Any] | None = None,
) -> Any:
    """The request that goes on with a run of a mode, or repeats what is ``stored`` of it with ``changes``."""
    again = again or bool(changes)
    if planned and not again and mode in (*RESUMABLE, None):
        return {"resume_from": run_id}
    request = stored()
    if again and isinstance(request, dict) and "source" in request:
        request = {name: value for name, value in request.items() if name != "resume_from"}
    if changes:
        request = with_changes(request, changes)
        checked(with_changes({"source": "", "destination": ""}, changes), Fields)
    return request


def changes_of(words: Sequence[str]) -> dict[str, Any]:
    """The values of ``FIELD=VALUE``, as JSON where they are that, else as text. Raises ``CommandError``."""
    found: dict[str, Any] = {}
    for word in words:
        field, separator, value = word.partition("=")
        if not field or not separator:
            raise CommandError(f"--set {word[:80]!r} is not allowed; give FIELD=VALUE, for example mode=copy")
        try:
            found[field] = json.loads(value, parse_constant=str)
        except ValueError:
            found[field] = value
    return found


def with_changes(request: Any, changes: Mapping[str, Any]) -> Any:
    """A request with other values of some fields. Raises ``CommandError`` for a part that is none."""
    if not isinstance(request, dict):
        raise CommandError("the request of that run is no JSON object; start a new one")
    changed: dict[str, Any] = {**request}
    for field, value in changes.items():
        part, dot, name = field.partition(".")
        if not dot:
            changed[part] = value
            continue
        held = changed.get(part) or {}
        if not isinstance(held, dict):
            raise CommandError(f"--set {field}: {part} of that request holds no fields")
        changed[part] = {**held, name: value}
    return changed


def _stored_request(stack: Stack, run_id: str, described: dict[str, Any]) -> Any:
    """The request as it came: of the ledger, or of the execution where there is no ledger."""
    asked = read_ledger(stack, run_id, REQUEST)
    if asked is None and "input" not in described:
        raise CommandError(f"{run_id} left no request; start it from its file: fanout start REQUEST.json")
    return asked["request"] if asked else json.loads(described["input"])
