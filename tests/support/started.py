"""Executions in moto's Step Functions, which the handlers ask about in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from moto.stepfunctions.models import stepfunctions_backends

_DEFINITION = json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}})
_ROLE = "arn:aws:iam::123456789012:role/transfer"


def machine_of(execution: str) -> str:
    """The ARN of the state machine of an execution."""
    return execution.rpartition(":")[0].replace(":execution:", ":stateMachine:")


@contextmanager
def started(execution: str, request: Any, entered: tuple[str, Any] = ("PlanTransfer", None)) -> Iterator[None]:
    """The execution runs inside, with this input; it has ended after, unless somebody else had started it.

    It ``entered`` a state last, by its name, with that input.
    """
    _, _, _, region, account, _, machine, name = execution.split(":", 7)
    backend: Any = stepfunctions_backends[account][region]
    arn = machine_of(execution)
    if arn not in {one.arn for one in backend.state_machines}:
        backend.create_state_machine(name=machine, definition=_DEFINITION, roleArn=_ROLE)
    (found,) = (one for one in backend.state_machines if one.arn == arn)
    runs = [one for one in found.executions if one.execution_arn == execution and one.status == "RUNNING"]
    if not runs:
        found.executions = [one for one in found.executions if one.execution_arn != execution]
        backend.start_execution(arn, name, json.dumps(request))
    for one in runs:
        one.execution_input = json.dumps(request)
    (at_work,) = (one for one in found.executions if one.execution_arn == execution)
    at_work.get_execution_history = lambda _role: [_entered(*entered)]
    try:
        yield
    finally:
        if not runs:
            backend.stop_execution(execution)


def _entered(state: str, given: Any) -> dict[str, Any]:
    details = {"name": state, "input": json.dumps(given)}
    return {"timestamp": datetime.now(UTC), "type": "TaskStateEntered", "id": 2, "stateEnteredEventDetails": details}
