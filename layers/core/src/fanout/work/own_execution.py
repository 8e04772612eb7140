"""A task is of its execution: Step Functions is asked for it before anything is planned, or closed.

| Step Functions says                                    | then                                         |
|--------------------------------------------------------|----------------------------------------------|
| it runs, with this name and machine, and this input    | the task works                               |
| it does not exist                                      | ``Transient``: it may not show its start yet |
| it has ended, or its name, machine or input is another | ``InvalidRequest``: no state sent this event |
| it entered another state last                          | ``Transient``: it may not show this one yet  |
| it entered this state with other data                  | ``InvalidRequest``: no state sent this event |

Without this, whoever may invoke the functions could have another's execution carry out a plan of theirs, or end it.
The input is only compared where the event holds it, the state where the event closes the run: nothing runs then in
parallel with that state.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fanout.model.errors import InvalidRequest, NotFound, Transient
from fanout.ports.aws import Execution, ExecutionReader

_FIELD = "execution"
_START_IT = "start an execution of the state machine with this request"


def check_execution(execution: str, run_id: str, machine: str, executions: ExecutionReader) -> Execution:
    """The run's own execution, which runs now. Raises ``InvalidRequest`` for another one.

    ``machine`` is the ARN of the state machine that the function belongs to.
    """
    try:
        found = executions.find(execution)
    except NotFound as error:
        raise Transient(f"the execution {execution[:200]} is not there, or does not show yet") from error
    if (found.name, found.machine) != (run_id, machine):
        problem = f"{execution[:200]} is the run {found.name} of {found.machine}, not {run_id[:80]} of {machine}"
        raise InvalidRequest(_FIELD, problem, _START_IT)
    if not found.runs:
        raise InvalidRequest(_FIELD, f"{execution} does not run any more", _START_IT)
    return found


def check_request(execution: str, run_id: str, request: Any, machine: str, executions: ExecutionReader) -> None:
    """The same, and its input must be this request."""
    if check_execution(execution, run_id, machine, executions).input != request:
        raise InvalidRequest(_FIELD, f"{execution} was started with another request", _START_IT)


def check_state(execution: str, run_id: str, machine: str, state: str, given: Any, executions: ExecutionReader) -> None:
    """The run's own execution, which runs now, is at this state, and entered it with this data."""
    with ThreadPoolExecutor(1, thread_name_prefix="entered") as pool:
        entering = pool.submit(executions.entered, execution)
        check_execution(execution, run_id, machine, executions)
    try:
        found = entering.result()
    except NotFound as error:
        raise Transient(f"the states of {execution[:200]} do not show yet") from error
    if found.state != state:
        raise Transient(f"{execution[:200]} is at {found.state}, or does not show yet that it is at {state}")
    if found.input != given:
        raise InvalidRequest("state", f"{execution} entered {state} with other data", _START_IT)
