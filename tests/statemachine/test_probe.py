"""The state machine of a probe: its form, its order, and where each failure leads."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.errors import InvalidRequest, Transient

from .definition import PROBE_FILE, Json, State, for_moto, load, states, tasks, workflows
from .engine import Engine
from .lambda_service import Event, NamedError
from .test_error_policy import RETRY_TABLE, retry_of
from .test_graph import is_end, reached

STATES = states(load(PROBE_FILE))
TASKS = tasks(load(PROBE_FILE))
RUN = {"id": "probe-1", "bucket": "work-bucket", "prefix": "runs/probe-1/"}
ROUNDS = [{"number": 0, "members": [0]}, {"number": 1, "members": [0, 1, 2]}, {"number": 2, "members": [0]}]


def by_name(state: State) -> str:
    return state.name


@pytest.mark.parametrize("state", STATES, ids=by_name)
def test_every_state_states_its_contract(state: State) -> None:
    assert state.body["Comment"].endswith(".")
    assert state.name.endswith("?") == (state.body["Type"] == "Choice")


@pytest.mark.parametrize("state", TASKS, ids=by_name)
def test_a_task_is_retried_as_those_of_a_transfer_and_calls_the_function_of_its_name(state: State) -> None:
    assert state.body["Retry"] == retry_of(RETRY_TABLE)
    assert state.body["Parameters"]["FunctionName"] == f"${{{state.name}FunctionArn}}"
    # The Map around RunExperiment catches what it does not.
    assert ("Catch" in state.body) == (state.name != "RunExperiment")


def test_every_state_is_reached_and_from_every_one_an_end() -> None:
    for _, workflow in workflows(load(PROBE_FILE)):
        assert reached(workflow["States"], [workflow["StartAt"]]) == set(workflow["States"])
        for name in workflow["States"]:
            assert any(is_end(workflow["States"][end]) for end in reached(workflow["States"], [name])), name


def test_once_something_may_be_written_every_way_leads_through_the_cleaning_up() -> None:
    root = load(PROBE_FILE)["States"]
    for name in ("OpenProbe", "RunRounds"):
        without = {end for end in reached(root, [name], stop_at={"CloseProbe"}) if is_end(root[end])}
        assert without <= {"FailedInvalidRequest"}  # OpenProbe refuses before it leaves anything


class FakeProbe:
    """The functions of a probe; those of ``fails`` raise."""

    def __init__(self, engine: Engine, fails: dict[str, Exception], status: str = "SUCCEEDED") -> None:
        self.status = status
        engine.definition = for_moto(PROBE_FILE)
        answers: dict[str, Any] = {
            "PlanProbe": lambda event: {"run": RUN, "rounds": ROUNDS},
            "OpenProbe": lambda event: {},
            "RunExperiment": lambda event: {"done": True, "bytes": 1},
            "CloseProbe": lambda event: {},
            "SummariseProbe": self.summarise,
        }
        engine.service.functions.update(
            {name: self._raising(fails[name]) if name in fails else answer for name, answer in answers.items()}
        )

    def summarise(self, event: Event) -> Json:
        error = event["state"].get("error")
        if error:
            return {"status": "FAILED", "error": "Infrastructure", "cause": error["Error"]}
        failed = self.status != "SUCCEEDED"
        return {"status": self.status, "error": "FailedExperiments" if failed else "", "cause": "x" if failed else ""}

    @staticmethod
    def _raising(error: Exception) -> Any:
        def answer(event: Event) -> Any:
            raise error

        return answer


def test_the_rounds_come_one_after_the_other_and_their_functions_at_once(engine: Engine) -> None:
    FakeProbe(engine, {})
    result = engine.run({}, "probe-1")
    assert (result.status, result.error) == ("SUCCEEDED", "")
    called = engine.service.called()
    assert called == ["PlanProbe", "OpenProbe", *["RunExperiment"] * 5, "CloseProbe", "SummariseProbe"]
    events = engine.service.calls("RunExperiment")
    assert [event["round"] for event in events] == [0, 1, 1, 1, 2]
    assert sorted(event["member"] for event in events) == [0, 0, 0, 1, 2]
    assert all(event["run"] == RUN for event in events)
    assert engine.service.calls("PlanProbe") == [{"step": "PlanProbe", "request": {}, "run_id": "probe-1"}]


def test_experiments_that_failed_end_red(engine: Engine) -> None:
    FakeProbe(engine, {}, "FAILED_EXPERIMENTS")
    result = engine.run({}, "probe-1")
    assert (result.status, result.error, result.cause) == ("FAILED", "FailedExperiments", "x")


def test_a_refusal_ends_at_once(engine: Engine) -> None:
    for name in ("PlanProbe", "OpenProbe"):
        FakeProbe(engine, {name: InvalidRequest("budget_bytes", "too much", "ask for less")})
        result = engine.run({}, f"refused-{name}")
        assert (result.status, result.error) == ("FAILED", "InvalidRequest")
        assert "budget_bytes: too much" in result.cause
    assert "CloseProbe" not in engine.service.called()


@pytest.mark.parametrize("name", ["OpenProbe", "RunExperiment", "CloseProbe"])
def test_whatever_breaks_the_probe_is_cleaned_up_after_and_told(engine: Engine, name: str) -> None:
    error: Exception = NamedError("Broken") if name != "OpenProbe" else Transient("EIO")
    FakeProbe(engine, {name: error})
    result = engine.run({}, "probe-1")
    assert (result.status, result.error) == ("FAILED", "Infrastructure")
    called = engine.service.called()
    assert called.index("CloseProbe") < called.index("SummariseProbe")


def test_a_summary_that_can_not_be_written_ends_red(engine: Engine) -> None:
    FakeProbe(engine, {"SummariseProbe": NamedError("Broken")})
    assert engine.run({}, "probe-1").error == "Infrastructure"
