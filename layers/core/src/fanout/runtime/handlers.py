"""The one handler of all states: it reads the event's ``step`` and carries out that row of ``flow.steps``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from fanout.flow.calls import Begin
from fanout.flow.events import check_event
from fanout.flow.steps import STEPS, run_step
from fanout.ledger.kept_store import KeptStore
from fanout.ledger.keys import PLAN
from fanout.ledger.run_places import run_prefix
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.runtime.bootstrap import make_context, prepare_processes, stack
from fanout.runtime.clients import make_work_store
from fanout.runtime.telemetry import goes_with_one_process, observed
from fanout.runtime.watch import take_no_task_after_a_stall, watched
from fanout.work.context import Context, nothing
from fanout.work.processes.crew import begin_crew, find_crew

Handler = Callable[[Json, Any], Json]
# What comes before a step's use case and after it, where it has a run's metrics to emit.
BEFORE = dict.fromkeys(("PlanTransfer", "CheckMount", "CheckOtherMount"), "fanout.runtime.doctor:require_s3")
AFTER = {
    "PlanTransfer": "fanout.runtime.telemetry:run_planned",
    "SummariseTransfer": "fanout.runtime.run_metrics:run_summarised",
    "StartBatch": "fanout.runtime.telemetry:batch_started",
}


def handler_of(function: str) -> Handler:
    """The handler of a function. Imports what the step of its name needs; other steps import at their first call.

    Begins the crew of a function that has one, before anything here can begin a thread.
    """
    for known in (function, *STEPS[function].walks):
        STEPS[known].load()
    if STEPS[function].shares_out:
        begin_crew(prepare_processes)

    def handler(event: Json, lambda_context: Any) -> Json:
        name = check_event(event)
        take_no_task_after_a_stall()
        with watched(lambda_context, {"state": str(name)}) as named:
            return answer_to(name, event, lambda_context, named)

    def answer_to(name: str, event: Json, lambda_context: Any, named: dict[str, str]) -> Json:
        if name not in STEPS or STEPS[name].function != function:
            allowed = ", ".join(state for state, step in STEPS.items() if step.function == function)
            raise InvalidRequest("step", f"{name!r} is not a step of {function}", f"allowed are {allowed}")
        return _task(name, event, lambda_context, named)

    return handler


def queue_handler_of(function: str) -> Handler:
    """The handler of a function that a queue calls, whose events name no step."""
    handler = handler_of(function)

    def of_queue(event: Any, lambda_context: Any) -> Json:
        return handler({**event, "step": function} if isinstance(event, dict) else event, lambda_context)

    return of_queue


def _task(name: str, event: Json, lambda_context: Any, named: dict[str, str]) -> Json:
    step = STEPS[name]
    first = _loaded(BEFORE[name]) if name in BEFORE else nothing
    state = step.acts_as or name
    run_id, prefix, sealed = step.place_of(event)
    named.update({"state": state, "run_id": run_id, **_keys_of(event)})
    remaining = lambda_context.get_remaining_time_in_millis() / 1000
    with observed(state, run_id, lambda_context, **_keys_of(event)) as counts:
        context = step.inside(make_context(run_id, prefix, remaining, state, sealed, None, step.function, step.seals))
        try:
            if step.shares_out and find_crew() is None:
                goes_with_one_process()
            inside = _begins(step.function, run_id, prefix, sealed, lambda_context, named) if step.walks else None
            answer = run_step(step, event, context, replace(stack(), begin=inside), first=first)
            if name in AFTER:
                _loaded(AFTER[name])(answer, context.ledger)
        finally:
            context.ends.release()
            context.limiter.end()
        counts.update({key: value for key, value in answer.items() if key in ("count", "cursor", "failed")})
        return step.answers(event, answer)


def _begins(function: str, run_id: str, prefix: str, sealed: str, lambda_context: Any, named: dict[str, str]) -> Begin:
    """Begins the steps that a function walks through, on one kept ledger; each is observed as in its own function."""
    kept = KeptStore(make_work_store(), run_prefix(run_id))

    @contextmanager
    def begin(state: str) -> Iterator[Context]:
        named["step"] = state
        kept.look_ahead(f"{run_prefix(run_id)}{PLAN}")
        if state in BEFORE:
            _loaded(BEFORE[state])()
        remaining = lambda_context.get_remaining_time_in_millis() / 1000
        with observed(state, run_id, lambda_context):
            context = make_context(run_id, prefix, remaining, state, sealed, kept, function, STEPS[state].seals)
            try:
                yield context
            finally:
                context.ends.release()
                context.limiter.end()

    return begin


def _keys_of(event: Mapping[str, Any]) -> dict[str, str]:
    """The fields of log lines that name the part of the tree at work."""
    return {f"{name}_id": str(event[name]["id"]) for name in ("shard", "segment") if name in event}


def _loaded(path: str) -> Any:
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
