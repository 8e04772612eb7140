"""The machine of a probe under the rights of the deployed roles: no state lacks one, whichever breaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.flow.calls import StackSettings
from fanout.flow.steps import STEPS, run_step
from fanout.flow.walker import StateFailed, Walker
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.errors import AccessDenied
from fanout.ports.aws import Entered, Execution
from tests.functions.kinds_of_runs import WORK
from tests.support.actions import Need
from tests.support.definitions import definition
from tests.support.deployed import RIGHTS
from tests.support.flow import OwnExecution
from tests.support.memory_store import MemoryStore
from tests.support.probes import MIB, ProbeWorld, Simulated
from tests.support.rights import Asking

PROBE = "probe-1"
REQUEST: Json = {"budget_bytes": 64 * MIB, "budget_seconds": 20, "max_functions": 1}
MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:fanout-Probe"
STATES = tuple(name for name, step in STEPS.items() if step.use_case.startswith("probe."))


@dataclass
class AskingExecutions:
    """The ``ExecutionReader`` of a role."""

    role: str
    denied: list[tuple[str, Need]]

    def find(self, execution: str) -> Execution:
        """See ``ports.aws.ExecutionReader``."""
        need = Need("states:DescribeExecution", execution)
        if not RIGHTS.allows(self.role, need):
            self.denied.append((self.role, need))
            raise AccessDenied("DescribeExecution", execution, "allow it")
        return Execution(MACHINE, PROBE, True, REQUEST)

    def entered(self, execution: str) -> Entered:
        """See ``ports.aws.ExecutionReader``."""
        need = Need("states:GetExecutionHistory", execution)
        if not RIGHTS.allows(self.role, need):
            self.denied.append((self.role, need))
            raise AccessDenied("GetExecutionHistory", execution, "allow it")
        return OwnExecution(PROBE).entered(execution)

    def running(self, execution: str) -> bool:
        """See ``ports.aws.Executions``."""
        raise AssertionError(f"a probe asks about {execution} by find alone")


@dataclass
class DeployedProbe:
    """A probe of which the tasks of a state break, before their work or after it."""

    breaks: str = ""
    after: bool = False
    denied: list[tuple[str, Need]] = field(default_factory=list)
    worked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """A file system that takes no time of the machine."""
        files = Simulated(200 * MIB, 0.001, set())
        self.world = ProbeWorld([], store=MemoryStore(), clock=files.clock, make=files.directory)

    def run(self) -> str:
        """The cause of the end of the execution; empty where it succeeded."""
        execution = {"Id": f"x:{PROBE}", "Name": PROBE}
        walker = Walker(definition("probe"), self.task, lambda *_: [], self.world.clock, execution, failure)
        try:
            walker.run(REQUEST)
        except StateFailed as failed:
            return str(failed.output()["Cause"])
        return ""

    def task(self, _function: str, event: Json) -> Any:
        """A task with the rights of its function's role."""
        name = event["step"]
        step = STEPS[name]
        if name == self.breaks and not self.after:
            raise StateFailed("Broken", '{"errorMessage": "the cause"}')
        store = Asking(RIGHTS, step.function, self.denied).store(self.world.store)
        context = self.world.context(PROBE)
        context = replace(
            context,
            ledger=Ledger(store, PROBE),
            stack=replace(
                context.stack,
                executions=AskingExecutions(step.function, self.denied),
                facts=replace(context.stack.facts, state_machine=MACHINE),
            ),
        )
        stack = StackSettings(("data",), 32, WORK, probe_directories=self.world.client(0))
        answer = step.answers(event, run_step(step, event, context, stack))
        self.worked.append(name)
        if name == self.breaks:
            raise StateFailed("Broken", '{"errorMessage": "the cause"}')
        return answer


def failure(error: Exception) -> StateFailed | None:
    """What a function raised, and nothing that a test did."""
    return StateFailed(type(error).__name__, str(error)) if isinstance(error, AccessDenied) else None


def test_no_state_of_a_probe_lacks_a_right() -> None:
    one = DeployedProbe()
    assert one.run() == ""
    assert one.denied == [] and set(one.worked) == set(STATES)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("state", STATES)
def test_a_state_of_a_probe_that_breaks_leaves_its_cause_and_no_state_after_it_lacks_a_right(
    state: str, *, after: bool
) -> None:
    one = DeployedProbe(state, after)
    ended = one.run()
    assert one.denied == []
    assert "the cause" in ended or state == "CloseProbe", "whose error is in its log: the next probe clears up"
    assert ("SummariseProbe" in one.worked) is (state != "PlanProbe" and (state != "SummariseProbe" or after))


def test_the_roles_that_are_looked_at_are_those_of_the_functions() -> None:
    """A walk that asked nobody would find nothing denied."""
    assert not RIGHTS.allows("OpenProbe", Need("states:DescribeExecution", f"x:{PROBE}"))
    assert RIGHTS.allows("PlanProbe", Need("s3:PutObject", f"arn:aws:s3:::{WORK}/runs/{PROBE}/probe-plan.json"))
    assert not RIGHTS.allows("OpenProbe", Need("s3:PutObject", f"arn:aws:s3:::{WORK}/runs/{PROBE}/probe-plan.json"))
