"""What the doctor finds outside of the mounts: whether two runs of one transfer can be kept apart."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.errors import AccessDenied, FanoutError, Transient
from fanout.runtime.turns_doctor import LOCK_KEY, examine_turns
from tests.functions.conftest import Invoke
from tests.support.memory_store import MemoryStore

LISTS, RUNS = "runs at the same time: lists", "runs at the same time: executions"
QUOTA = "Lambda concurrency, as a plan sees it"
ARN = "arn:aws:states:us-east-1:123456789012:execution:fanout-transfer:doctor"
EVENT = {"step": "ExamineTurns", "execution": ARN}


class Asked:
    """Executions of which none goes on, or that cannot be asked about."""

    def __init__(self, error: FanoutError | None = None) -> None:
        self._error = error
        self.about: list[str] = []

    def running(self, execution: str) -> bool:
        self.about.append(execution)
        if self._error:
            raise self._error
        return False


class Account:
    """An account of 10, or one that cannot be asked about."""

    def __init__(self, error: FanoutError | None = None) -> None:
        self._error = error

    def unreserved_concurrency(self) -> int:
        if self._error:
            raise self._error
        return 10


class Refusing(MemoryStore):
    """A work bucket whose objects can be read and not written."""

    def write_version(self, key: str, data: bytes, version: str) -> None:
        raise AccessDenied("PutObject", key, "allow it")


class Careless(MemoryStore):
    """A store that does not know conditional writes."""

    def write_version(self, key: str, data: bytes, version: str) -> None:
        self.put(key, data)


def found(answer: Any) -> dict[str, Any]:
    return {row["name"]: row for row in answer["findings"]}


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_stack_that_is_well_whether_or_not_it_was_asked_before(time: str) -> None:
    store, executions = MemoryStore(), Asked()
    if time == "second":
        examine_turns(ARN, store, executions, Account())
    rows = found(examine_turns(ARN, store, executions, Account()))
    assert {name: row["level"] for name, row in rows.items()} == {LISTS: "ok", RUNS: "ok", QUOTA: "ok"}
    assert set(executions.about) == {ARN}
    assert list(store.list("")) == [LOCK_KEY] and LOCK_KEY.startswith("runs/doctor/")


def test_lists_that_can_not_be_written_are_found_with_what_is_missing() -> None:
    rows = found(examine_turns(ARN, Refusing(), Asked(), Account()))
    assert (rows[LISTS]["level"], rows[RUNS]["level"]) == ("fail", "ok")
    assert f"s3:PutObject on {LOCK_KEY}" in rows[LISTS]["remedy"] and "fanout deploy" in rows[LISTS]["remedy"]
    assert LOCK_KEY in rows[LISTS]["what"]


def test_a_store_that_lets_one_run_overwrite_the_other_is_found() -> None:
    row = found(examine_turns(ARN, Careless(), Asked(), Account()))[LISTS]
    assert (row["level"], "had not read it" in row["what"]) == ("fail", True)
    assert "If-None-Match" in row["remedy"]


@pytest.mark.parametrize("error", [AccessDenied("DescribeExecution", ARN, "allow it"), Transient("no answer")])
def test_runs_that_can_not_be_asked_about_are_found_with_what_is_missing(error: FanoutError) -> None:
    rows = found(examine_turns(ARN, MemoryStore(), Asked(error), Account()))
    assert (rows[LISTS]["level"], rows[RUNS]["level"]) == ("ok", "fail")
    assert rows[RUNS]["what"] == str(error)
    assert "states:DescribeExecution" in rows[RUNS]["remedy"]


@pytest.mark.parametrize("error", [AccessDenied("lambda:GetAccountSettings", "the account", "allow it"), Transient("")])
def test_an_account_that_can_not_be_asked_about_is_a_warning(error: FanoutError) -> None:
    row = found(examine_turns(ARN, MemoryStore(), Asked(), Account(error)))[QUOTA]
    assert (row["level"], row["what"]) == ("warn", str(error))
    assert "lambda:GetAccountSettings" in row["remedy"]


def test_the_account_is_shown_with_what_a_run_takes_of_it() -> None:
    row = found(examine_turns(ARN, MemoryStore(), Asked(), Account()))[QUOTA]
    assert row["what"] == "10 functions without a reservation may run, a run starts 8 at most"


def test_the_function_asks_its_own_bucket_and_step_functions(s3: Any, invoke: Invoke) -> None:
    rows = found(invoke("ExamineTurns", EVENT))
    # moto's Lambda does not know GetAccountSettings.
    assert {name: row["level"] for name, row in rows.items()} == {LISTS: "ok", RUNS: "ok", QUOTA: "warn"}
    assert s3.head_object(Bucket="work-bucket", Key=LOCK_KEY)
    s3.delete_object(Bucket="work-bucket", Key=LOCK_KEY)
