"""A plan is of its execution: Step Functions is asked for it before anything is planned.

| Step Functions says                                   | then                                          |
|-------------------------------------------------------|-----------------------------------------------|
| it runs, with this name, machine and input            | the plan is made                              |
| it does not exist                                     | ``Transient``: it may not show its start yet  |
| it has ended, or its name, machine or input is another | ``InvalidRequest``: no state sent this event  |

Without this, whoever may invoke the function could have another's execution carry out a plan of theirs.
"""

from __future__ import annotations

from typing import Any

from fanout.model.errors import InvalidRequest, NotFound, Transient
from fanout.ports.aws import ExecutionReader

_FIELD = "execution"
_START_IT = "start an execution of the state machine with this request"


def check_execution(execution: str, run_id: str, request: Any, machine: str, executions: ExecutionReader) -> None:
    """Raise ``InvalidRequest`` unless the run's own execution runs now and its input is this request.

    ``machine`` is the ARN of the state machine that the function belongs to.
    """
    try:
        found = executions.find(execution)
    except NotFound as error:
        raise Transient(f"the execution {execution} is not there, or does not show yet") from error
    if (found.name, found.machine) != (run_id, machine):
        problem = f"{execution[:200]} is the run {found.name} of {found.machine}, not {run_id[:80]} of {machine}"
        raise InvalidRequest(_FIELD, problem, _START_IT)
    if not found.runs:
        raise InvalidRequest(_FIELD, f"{execution} does not run any more", _START_IT)
    if found.input != request:
        raise InvalidRequest(_FIELD, f"{execution} was started with another request", _START_IT)
