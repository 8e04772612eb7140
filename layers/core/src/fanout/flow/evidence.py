"""The evidence that an event is of an execution that exists and runs, before its task does anything.

Whoever may invoke a function can send it any event. ``Evidence`` is a column of the table of steps:

| evidence    | what shows it                                                                     | of               |
|-------------|-----------------------------------------------------------------------------------|------------------|
| PLAN        | the run's plan is there and has the step, its summary is not (``own_run``)        | tasks of a run   |
| PROBE       | the same of a probe: only PlanProbe may write the plan                            | its mounted ones |
| REQUEST     | Step Functions: the execution runs, with the event's request (``own_execution``)  | who plans        |
| EXECUTION   | Step Functions: the execution is at this state, with its data; its plan is there  | who summarises   |
| EACH_STEP   | each step that it walks through asks for itself                                   | ShortWay         |
| OWN_REQUEST | nothing of the event: it starts an execution with the stack's own request         | StartBatch       |

Functions that mount have no route to Step Functions, so they rest on what a function wrote that has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum

from fanout.flow.events import FROM_MACHINE, field
from fanout.flow.own_run import MISSING, of_a_run_at_work
from fanout.ledger import keys, probe_keys
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.work.context import Context
from fanout.work.own_execution import check_request, check_state


class Evidence(Enum):
    """See the table above; the default of a step is the first one."""

    PLAN = "plan"
    PROBE = "probe"
    REQUEST = "request"
    EXECUTION = "execution"
    EACH_STEP = "each step"
    OWN_REQUEST = "own request"

    @property
    def is_in_ledger(self) -> bool:
        """Whether the work bucket holds it, so that S3 must answer first."""
        return self in (Evidence.PLAN, Evidence.PROBE)


@contextmanager
def shown(evidence: Evidence, event: Json, context: Context) -> Iterator[Context]:
    """The context of a task whose event is of an execution at work. Raises before anything is written or opened."""
    match evidence:
        case Evidence.PLAN:
            with of_a_run_at_work(event, context) as own:
                yield own
            return
        case Evidence.PROBE:
            _check_probe(context.ledger)
        case Evidence.REQUEST:
            context.ledger.look_ahead(planned=False)  # S3 answers meanwhile
            request, run_id = field(event, "request"), context.ledger.run_id
            check_request(_execution(event, context), run_id, request, _machine(context), context.stack.executions)
        case Evidence.EXECUTION:
            context.ledger.look_ahead()  # S3 answers meanwhile
            whole, run_id = field(event, "state"), context.ledger.run_id
            at = _execution(event, context), run_id, _machine(context), event["step"]
            check_state(*at, whole, context.stack.executions)
            if field(whole, "run") != field(event, "run"):
                raise InvalidRequest("state.run", "is another than run", FROM_MACHINE)
            _check_planned(context.ledger, keys.PLAN, probe_keys.PLAN)
        case Evidence.EACH_STEP | Evidence.OWN_REQUEST:
            pass
    yield context


def _machine(context: Context) -> str:
    return context.stack.facts.state_machine


def _execution(event: Json, context: Context) -> str:
    """The ARN of the execution: the event's, which has to be the run's own, or the one that the run's name makes."""
    named = f"{_machine(context).replace(':stateMachine:', ':execution:')}:{context.ledger.run_id}"
    return str(event.get("execution", named))


def _check_planned(ledger: Ledger, *plans: str) -> None:
    if not any(ledger.has(key) for key in plans):
        raise ledger.broken(plans[0], MISSING)


def _check_probe(ledger: Ledger) -> None:
    """Raise ``LedgerBroken`` for a probe that was never planned, ``InvalidRequest`` for one that has ended."""
    _check_planned(ledger, probe_keys.PLAN)
    if ledger.has(probe_keys.RESULT):
        problem = f"{ledger.run_id} has ended: it has its {probe_keys.RESULT}"
        raise InvalidRequest("run", problem, "start another probe")
