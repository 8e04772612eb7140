"""What somebody reaches who may invoke the functions and start no execution: every state, by its handler.

The states are those of the table ``STEPS``: a new one is held to the same without a line here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.stepfunctions.models import stepfunctions_backends

from fanout.flow.steps import STEPS
from fanout.model.document import Json
from fanout.model.errors import FanoutError, InvalidRequest
from tests.functions.conftest import Invoke, LambdaContext
from tests.functions.hand_made import MACHINE, REQUEST, asked, event_of, execution_of, seen, writes
from tests.support.handler_flow import HandlerFlow
from tests.support.started import started

OTHER_MACHINE = MACHINE.replace("fanout-", "theirs-")
NOT_AT_WORK = "has ended|does not run any more|does not show yet|is missing in the event"
# A run that was finished by its own state machine, in each way.
ENDED = {"succeeded": "SUCCEEDED", "failed": "FAILED"}


@pytest.fixture(autouse=True)
def _of_a_stack(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the template says it: the functions that ask about executions know their state machine."""
    from fanout.runtime import clients

    monkeypatch.setenv("FANOUT_STATE_MACHINE", MACHINE)
    clients.settings.cache_clear()
    s3.put_object(Bucket="data-bucket", Key="in/a", Body=b"a")


def refusal(call: Invoke, function: str, event: Json) -> str:
    """The error of a task, which a short way hands on with what it could not do."""
    if event["step"] == "ShortWay" == function:
        with suppress(InvalidRequest):
            return str(call(function, event)["short"]["why"])
    with pytest.raises(FanoutError) as caught:
        call(function, event)
    return str(caught.value)


def refused(call: Invoke, s3: Any, mount: Path, monkeypatch: pytest.MonkeyPatch, function: str, event: Json) -> str:
    """The error of a task that changed nothing, and sent no request that could have."""
    before = seen(s3, mount)
    with asked(monkeypatch) as found:
        said = refusal(call, function, event)
    assert writes(found) == set()
    assert seen(s3, mount) == before
    return said


# An event of a run that does not exist, or of one that runs elsewhere, or with another request, and what is around it.
def of_no_execution(state: str) -> Json:
    return event_of("nobody", state)


def with_more_fields(state: str) -> Json:
    more = {"mounts": {"data": "/"}, "work_bucket": "data-bucket", "machine": OTHER_MACHINE, "prefix": "runs/other/"}
    return event_of("nobody", state) | more


def of_another_stack(state: str) -> Json:
    return event_of("theirs", state, OTHER_MACHINE)


def of_another_request(state: str) -> Json:
    return event_of("victim", state)


def of_another_name(state: str) -> Json:
    return event_of("nobody", state) | {"execution": execution_of("victim")}


def outside_of_a_window(state: str) -> Json:
    """The fields that have a task do nothing but hand back, each with its records."""
    event = of_no_execution(state)
    opens = datetime.now(UTC) + timedelta(hours=2)
    return event | {"run": {**event["run"], "window": f"{opens:%H:%M}-{opens + timedelta(hours=1):%H:%M} UTC"}}


FROM_OUTSIDE: tuple[Callable[[str], Json], ...] = (
    of_no_execution,
    with_more_fields,
    of_another_stack,
    of_another_request,
    of_another_name,
    outside_of_a_window,
)


@pytest.fixture
def running() -> Iterator[None]:
    """A run of this stack waits for its turn, and one of another stack runs with the request that is sent here."""
    with (
        started(execution_of("victim"), REQUEST | {"destination": "efs:///theirs"}),
        started(execution_of("theirs", OTHER_MACHINE), REQUEST),
    ):
        yield


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("state", STEPS)
def test_an_event_of_no_run_at_work_changes_nothing(
    s3: Any, call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    for made in FROM_OUTSIDE:
        said = refused(call, s3, tmp_path, monkeypatch, STEPS[state].function, made(state))
        assert re.search("execution|no execution of this name was planned|is missing in the event", said), (state, said)


@pytest.mark.parametrize("how", ENDED)
def test_an_event_of_a_run_that_has_ended_changes_nothing(
    s3: Any, call: Invoke, flow: HandlerFlow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    request = {"source": "s3://data-bucket/in/", "destination": "efs://data/out", "mode": "sync"}
    status = "SUCCEEDED" if how == "succeeded" else "FAILED_WITH_ITEMS"
    assert flow.run("ended", request, fail_shards=how == "failed")["status"] == status
    flow.probe("probed", {"budget_bytes": 2**26, "budget_seconds": 20, "max_functions": 1})
    monkeypatch.setenv("FANOUT_MOUNTS", json.dumps({"data": str(tmp_path / "data")}))
    (shard,) = json.loads(s3.get_object(Bucket="work-bucket", Key="runs/ended/shards.json")["Body"].read())
    for machine in stepfunctions_backends["123456789012"]["us-east-1"].state_machines:
        for one in machine.executions:
            one.status = ENDED[how]
    for state in STEPS:
        run_id = "probed" if STEPS[state].use_case.startswith("probe.") else "ended"
        event = event_of(run_id, state) | {"shard": shard["shard"], "request": request}
        said = refused(call, s3, tmp_path, monkeypatch, STEPS[state].function, event)
        assert re.search("has ended|does not run any more|does not show yet|is missing in the event", said), (
            state,
            said,
        )


@pytest.mark.parametrize("state", STEPS)
def test_a_function_answers_to_its_own_states_alone(
    s3: Any, call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    for function in {step.function for step in STEPS.values()} - {STEPS[state].function, "StartBatch"}:
        said = refused(call, s3, tmp_path, monkeypatch, function, event_of("nobody", state))
        assert f"is not a step of {function}" in said


@pytest.mark.parametrize("state", STEPS)
def test_an_event_of_the_ledger_of_another_run_changes_nothing(
    s3: Any, call: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    event = event_of("nobody", state)
    for prefix in ("runs/other/", "runs/nobody/../other/", "seals/", ""):
        event["run"] = {**event["run"], "prefix": prefix}
        refused(call, s3, tmp_path, monkeypatch, STEPS[state].function, event)


# In the place of a field.
WRONG: tuple[Any, ...] = (None, 7, "x" * 300, [[]], {"id": 7})


def broken_events(state: str) -> Iterator[Json]:
    """An event with each of its fields missing, or of another type."""
    event = event_of("nobody", state)
    for name in event.keys() - {"step"}:
        yield {one: value for one, value in event.items() if one != name}
        yield from ({**event, name: value} for value in WRONG)
    for outer in ("run", "state", "list", "shard", "segment"):
        for name in event[outer]:
            yield from ({**event, outer: {**event[outer], name: value}} for value in WRONG)


@pytest.mark.parametrize("state", STEPS)
def test_a_malformed_event_changes_nothing_and_is_named(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    from fanout.runtime.handlers import handler_of

    handler, before = handler_of(STEPS[state].function), seen(s3, tmp_path)
    with asked(monkeypatch) as found:
        for event in broken_events(state):
            said = refusal(lambda _, event: handler(event, LambdaContext()), STEPS[state].function, event)
            assert said, event
    assert writes(found) == set() and seen(s3, tmp_path) == before


def test_what_is_not_an_event_of_a_state_is_named(call: Invoke) -> None:
    steps: tuple[Any, ...] = (None, 7, [], {}, "", "x", "RemoveEverything", "ExamineNetwork")
    for step in steps:
        with pytest.raises(InvalidRequest, match="step"):
            call("CopyShard", {"step": step})


@pytest.fixture
def flow(invoke: Invoke, s3: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> HandlerFlow:
    """A state machine over two mounts."""
    from fanout.runtime import bootstrap

    for name in ("data", "archive"):
        (tmp_path / name).mkdir()
    return HandlerFlow(invoke, s3, monkeypatch, {"data": tmp_path / "data", "archive": tmp_path / "archive"}, bootstrap)
