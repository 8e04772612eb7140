"""A run that no state machine started: it is its own execution, and nobody knows of others."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fanout.ports.aws import Entered, Execution
from fanout.work.context import Context


class OwnExecution:
    """The ``ExecutionReader`` of one run with its request."""

    def __init__(self, run_id: str, machine: str, request: Any) -> None:
        self._found = Execution(machine, run_id, True, request)
        self._entered = Entered("PlanTransfer", request)

    def enter(self, event: dict[str, Any]) -> None:
        """The state that sends this event is the one that the run is at."""
        self._entered = Entered(event["step"], event.get("state"))

    def entered(self, execution: str) -> Entered:
        """The state that the run entered last, and its data where its event has them."""
        return self._entered

    def find(self, execution: str) -> Execution:
        """The run."""
        return self._found

    def running(self, execution: str) -> bool:
        """No other run is there."""
        return False


def on_its_own(context: Context, request: Any) -> Context:
    """The context of the plan of a request that is carried out in this process."""
    own = OwnExecution(context.ledger.run_id, context.stack.facts.state_machine, request)
    return replace(context, stack=replace(context.stack, executions=own))
