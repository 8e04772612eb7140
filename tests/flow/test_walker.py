"""The walker heeds Retry, Catch and paths as the states language says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fanout.flow.paths import NotThere, filled, find, holds, put
from fanout.flow.walker import StateFailed, Walker, never
from fanout.model.document import Json
from fanout.model.errors import LedgerBroken, Transient
from tests.support.flow import ManualClock

TASK: Json = {
    "Type": "Task",
    "Parameters": {"FunctionName": "work", "Payload": {"given.$": "$"}},
    "OutputPath": "$.Payload",
    "End": True,
}


class Work:
    """A function that raises one error after the other, then answers 1; waits are kept."""

    def __init__(self, *errors: Exception, answer: Any = 1) -> None:
        self.errors, self.answer = list(errors), answer
        self.events: list[Json] = []
        self.waits: list[float] = []

    def now(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    def __call__(self, _function: str, event: Json) -> Any:
        self.events.append(event)
        if self.errors:
            raise self.errors.pop(0)
        return self.answer

    def walk(self, given: Any = None, start: str = "Work", /, **states: Json) -> Any:
        definition = {"StartAt": start, "States": states}
        return Walker(definition, self, lambda bucket, key: [bucket, key], self, {"Name": "run-1"}).run(given)


def retry(*errors: str, **more: Any) -> Json:
    return {"ErrorEquals": list(errors), "IntervalSeconds": 2, "BackoffRate": 2.0, **more}


def catch(state: str, *errors: str, path: str | None = "$.error") -> Json:
    return {"ErrorEquals": list(errors), "ResultPath": path, "Next": state}


def test_a_retry_doubles_its_wait_up_to_its_bound() -> None:
    work = Work(*[Transient("x")] * 4)
    state = TASK | {"Retry": [retry("Transient", MaxAttempts=4, MaxDelaySeconds=7)]}
    assert work.walk(Work=state) == 1
    assert work.waits == [2, 4, 7, 7]


def test_each_retrier_counts_its_own_attempts_and_the_first_that_names_the_error_is_heeded() -> None:
    work = Work(Transient("x"), LedgerBroken("y"), Transient("x"), Transient("z"))
    state = TASK | {"Retry": [retry("Transient", MaxAttempts=2), retry("States.ALL", MaxAttempts=9)]}
    with pytest.raises(StateFailed, match="Transient"):
        work.walk(Work=state)
    assert len(work.events) == 4


def test_without_a_number_three_attempts_follow_and_with_0_none() -> None:
    for more, calls in (({}, 4), ({"MaxAttempts": 0}, 1)):
        work = Work(*[Transient("x")] * 9)
        with pytest.raises(StateFailed):
            work.walk(Work=TASK | {"Retry": [retry("States.TaskFailed", **more)]})
        assert len(work.events) == calls


def test_the_first_catch_that_names_the_error_is_taken_after_the_retries() -> None:
    work = Work(*[LedgerBroken("gone")] * 3)
    catches = [catch("A", "Transient"), catch("B", "LedgerBroken", path="$.note"), catch("A", "States.ALL")]
    state = TASK | {"Retry": [retry("LedgerBroken", MaxAttempts=1)], "Catch": catches}
    found = work.walk({"kept": 1}, Work=state, A={"Type": "Fail"}, B={"Type": "Succeed"})
    assert len(work.events) == 2
    assert found["kept"] == 1 and found["note"]["Error"] == "LedgerBroken" and "gone" in found["note"]["Cause"]


def test_a_time_out_is_no_failed_task_and_what_is_fatal_is_caught_by_nobody() -> None:
    catches = [catch("A", "States.TaskFailed"), catch("B", "States.ALL")]
    ends = {"A": {"Type": "Pass", "Result": "A", "End": True}, "B": {"Type": "Pass", "Result": "B", "End": True}}
    for error, taken in (("States.Timeout", "B"), ("Lambda.Unknown", "A")):
        assert Work(StateFailed(error)).walk({}, Work=TASK | {"Catch": catches}, **ends) == taken
    with pytest.raises(StateFailed, match=r"States\.Runtime"):
        Work(StateFailed("States.Runtime")).walk(
            {}, Work=TASK | {"Catch": catches, "Retry": [retry("States.ALL")]}, **ends
        )


@pytest.mark.parametrize("error", [LedgerBroken("x"), ValueError("y")])
def test_an_exception_that_is_no_failure_goes_through(error: Exception) -> None:
    def invoke(_function: str, _payload: Json) -> Any:
        raise error

    definition = {"StartAt": "Work", "States": {"Work": TASK | {"Catch": [catch("Work", "States.ALL")]}}}
    walker = Walker(definition, invoke, lambda *_: [], ManualClock(), {}, failure=never)
    with pytest.raises(type(error)):
        walker.run({})


def mapped(tolerance: int, mode: str = "DISTRIBUTED") -> Json:
    return {
        "Type": "Map",
        "ItemReader": {"Parameters": {"Bucket": "b", "Key.$": "$.key"}},
        "ItemSelector": {"at.$": "$$.Map.Item.Index", "item.$": "$$.Map.Item.Value", "key.$": "$.key"},
        "ItemProcessor": {"ProcessorConfig": {"Mode": mode}, "StartAt": "Work", "States": {"Work": TASK}},
        "ToleratedFailurePercentage": tolerance,
        "Catch": [catch("Caught", "States.ALL")],
        "End": True,
    }


def test_a_distributed_map_reads_its_items_and_tolerates_failures_up_to_its_share() -> None:
    ends = {"Caught": {"Type": "Succeed"}}
    work = Work(LedgerBroken("x"))
    assert work.walk({"key": "k"}, "Map", Map=mapped(50), **ends) == [1]
    assert [event["given"] for event in work.events] == [
        {"at": 0, "item": "b", "key": "k"},
        {"at": 1, "item": "k", "key": "k"},
    ]
    found = Work(LedgerBroken("x")).walk({"key": "k"}, "Map", Map=mapped(49), **ends)
    assert found["error"]["Error"] == "States.ExceedToleratedFailureThreshold"
    found = Work(LedgerBroken("x")).walk({"key": "k"}, "Map", Map=mapped(0, "INLINE"), **ends)
    assert found["error"]["Error"] == "LedgerBroken"


def test_items_that_cannot_be_read_are_retried_as_such() -> None:
    def read(_bucket: str, _key: str) -> list[Any]:
        raise LedgerBroken("x")

    work = Work()
    state = mapped(0) | {"Retry": [retry("States.ItemReaderFailed", MaxAttempts=3)]}
    definition = {"StartAt": "Map", "States": {"Map": state, "Caught": {"Type": "Succeed"}}}
    found = Walker(definition, work, read, work, {}).run({"key": "k"})
    assert (found["error"]["Error"], work.waits) == ("States.ItemReaderFailed", [2, 4, 8])


def test_branches_give_their_results_in_order_in_whatever_order_they_come() -> None:
    branches = [{"StartAt": name, "States": {name: {"Type": "Pass", "Result": name, "End": True}}} for name in "AB"]
    entered: list[str] = []
    definition = {"StartAt": "Both", "States": {"Both": {"Type": "Parallel", "Branches": branches, "End": True}}}
    work = Work()
    walker = Walker(
        definition, work, lambda *_: [], work, {}, in_order=lambda numbers: numbers[::-1], entered=entered.append
    )
    assert (walker.run({}), entered) == (["A", "B"], ["Both", "B", "A"])


def test_what_a_task_gives_and_gets_is_a_copy() -> None:
    work = Work(answer={"list": []})
    given: Json = {"list": []}
    found = work.walk(given, Work=TASK)
    work.events[0]["given"]["list"].append(1)
    found["list"].append(2)
    assert given == work.answer == {"list": []}


@pytest.mark.parametrize(
    ("state", "waited"),
    [
        ({"SecondsPath": "$.wait"}, [5]),
        ({"TimestampPath": "$.until"}, [60.0]),
        ({"TimestampPath": "$.past"}, []),
    ],
)
def test_a_wait_ends_after_seconds_or_at_a_moment(state: Json, waited: list[float]) -> None:
    work = Work()
    data = {"wait": 5, "until": "1970-01-01T00:01:00Z", "past": "1969-01-01T00:00:00Z"}
    assert work.walk(data, "Wait", Wait={"Type": "Wait", **state, "End": True}) == data
    assert work.waits == waited


def test_a_missing_field_ends_a_choice_for_good_and_a_parameter_is_caught() -> None:
    choice: Json = {
        "Type": "Choice",
        "Choices": [{"Variable": "$.x", "StringEquals": "a", "Next": "End"}],
        "Default": "End",
    }
    states: dict[str, Json] = {"Ask?": choice, "End": {"Type": "Succeed"}}
    with pytest.raises(StateFailed, match=r"States\.Runtime: \$\.x leads to nothing"):
        Work().walk({}, "Ask?", **states)
    task = TASK | {
        "Parameters": {"FunctionName": "f", "Payload": {"x.$": "$.x"}},
        "Catch": [catch("End", "States.ALL")],
    }
    assert Work().walk({}, Work=task, End={"Type": "Succeed"})["error"]["Error"] == "States.ParameterPathFailure"


def test_a_fail_names_its_error_by_a_path_or_a_format() -> None:
    fail = {"Type": "Fail", "Error": "Broken", "CausePath": "States.Format('{}: {}', $.a, $.b)"}
    with pytest.raises(StateFailed) as raised:
        Work().walk({"a": "A", "b": "B"}, "Fail", Fail=fail)
    assert (raised.value.error, raised.value.cause) == ("Broken", "A: B")


@pytest.mark.parametrize(
    ("rule", "does"),
    [
        ({"Variable": "$.s", "StringEquals": "b"}, True),
        ({"Variable": "$.s", "StringGreaterThan": "a"}, True),
        ({"Variable": "$.s", "StringGreaterThan": "b"}, False),
        ({"Variable": "$.n", "NumericGreaterThan": 0}, True),
        ({"Variable": "$.n", "StringEquals": "1"}, False),
        ({"Variable": "$.t", "BooleanEquals": True}, True),
        ({"Variable": "$.n", "BooleanEquals": True}, False),
        ({"Variable": "$.s.deep", "IsPresent": True}, False),
        ({"Variable": "$.nothing", "IsPresent": False}, True),
        ({"And": [{"Variable": "$.t", "BooleanEquals": True}, {"Variable": "$.n", "NumericGreaterThan": 1}]}, False),
    ],
)
def test_a_rule_of_a_choice(rule: Json, does: bool) -> None:
    assert holds({**rule, "Next": "X"}, {"s": "b", "n": 1, "t": True}, {}) is does


def test_an_operator_or_a_path_that_is_not_walked_is_an_error_of_the_program() -> None:
    with pytest.raises(KeyError):
        holds({"Variable": "$.s", "StringMatches": "b*", "Next": "X"}, {"s": "b"}, {})
    with pytest.raises(ValueError, match="is not walked here"):
        find("$.a[*].b", {}, {})


def test_paths() -> None:
    data = {"a": [{"b": 1}]}
    assert (find("$.a[0].b", data, {}), find("$$.Execution.Name", data, {"Execution": {"Name": "n"}})) == (1, "n")
    with pytest.raises(NotThere):
        find("$.a[1]", data, {})
    assert filled({"x.$": "$.a", "y": {"z.$": "$.a[0].b"}, "l": [1]}, data, {}) == {
        "x": [{"b": 1}],
        "y": {"z": 1},
        "l": [1],
    }


@pytest.mark.parametrize(
    ("path", "expected"),
    [(None, {"a": 1}), ("$", 2), ("$.b", {"a": 1, "b": 2}), ("$.b.c", {"a": 1, "b": {"c": 2}})],
)
def test_where_a_result_is_put(path: str | None, expected: Any) -> None:
    data = {"a": 1}
    check: Callable[..., Any] = put
    assert check(path, 2, data) == expected and data == {"a": 1}
