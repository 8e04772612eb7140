"""A probe whose experiments fail, whose functions die or whose file system does not answer; and its budget."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.facts.units import GIB
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from tests.probe.probe_writes import BeforeWrites
from tests.support.probes import MIB, SCHEMA, SMALL, ProbeWorld, Simulated, by_name


@pytest.mark.parametrize(
    ("reason", "message"), [(Reason.NO_SPACE, "write at the destination: ENOSPC"), (Reason.TRANSIENT, "EIO")]
)
def test_an_experiment_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path, reason: Reason, message: str) -> None:
    calls = itertools.count()

    def fail_early(_size: int) -> None:
        if next(calls) < 3:
            raise ItemError(reason, message)

    world = ProbeWorld([tmp_path], wrap=lambda directory: BeforeWrites(directory, fail_early))
    result = world.run({**SMALL, "budget_bytes": 256 * MIB})
    assert result["status"] == "FAILED_EXPERIMENTS"
    assert by_name(result)["write_by_io_size"]["problems"][0] == {
        "functions": 1,
        "member": 0,
        "reason": reason.value,
        "message": message,
    }
    assert by_name(result)["write_latency"]["points"]
    assert os.listdir(tmp_path) == []
    assert not world.ledger("p").of_file_system("data").has("latest.json")
    assert world.summarise("probe-1")["error"] == "FailedExperiments"


def test_a_function_that_died_is_not_repeated_and_what_it_may_have_used_is_not_used_again(tmp_path: Path) -> None:
    world = ProbeWorld([tmp_path])
    world.plan(SMALL, "p")
    world.open("p")

    def die(_size: int) -> None:
        raise KeyboardInterrupt

    world.wrap = lambda directory: BeforeWrites(directory, die)
    with pytest.raises(KeyboardInterrupt):
        world.experiment("p", 0, 0)
    world.wrap = lambda directory: directory
    before = {path: path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()}
    assert world.experiment("p", 0, 0) == {"done": False, "bytes": 0}
    assert {path: path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()} == before
    world.close("p")
    world.summarise("p")
    problems = by_name(world.result("p"))["write_by_io_size"]["problems"]
    assert [problem["reason"] for problem in problems] == ["lost"]
    assert os.listdir(tmp_path) == []


def test_a_probe_that_broke_off_says_why_and_what_was_measured(tmp_path: Path) -> None:
    world = ProbeWorld([tmp_path])
    planned = world.plan(SMALL, "p")
    world.open("p")
    world.rounds("p", planned["rounds"][:2])
    world.close("p")
    answer = world.summarise("p", {"Error": "States.Timeout", "Cause": "RunExperiment"})
    assert answer == {"status": "FAILED", "error": "Infrastructure", "cause": "States.Timeout: RunExperiment"}
    result = world.result("p")
    jsonschema.validate(result, json.loads(SCHEMA.read_text()))
    assert by_name(result)["write_by_io_size"]["points"] and not by_name(result)["stream"]["points"]
    assert result["calibration"] is None
    assert not world.ledger("p").of_file_system("data").has("latest.json")


def test_a_file_system_that_does_not_answer_costs_no_more_than_the_time(tmp_path: Path) -> None:
    release = threading.Event()
    world = ProbeWorld([tmp_path], wrap=lambda inner: BeforeWrites(inner, lambda _: release.wait(60)))
    world.plan({**SMALL, "budget_seconds": 20}, "p")
    world.open("p")
    began = world.clock.now()
    try:
        world.experiment("p", 0, 0)
        assert world.clock.now() - began < 10  # of the 1.4 s that it has; the file system hangs for 60
    finally:
        release.set()
    [row] = [world.ledger("p").read_json(key) for key in world.ledger("p").keys("samples/")]
    assert row["why_not"] == ["the time of the budget did not suffice"] * 5


def test_functions_that_do_not_come_are_not_waited_for_long(tmp_path: Path) -> None:
    world = ProbeWorld([tmp_path])
    planned = world.plan({**SMALL, "budget_seconds": 20}, "p")
    world.open("p")
    number = next(one["number"] for one in planned["rounds"] if len(one["members"]) == 2)
    world.experiment("p", number, 0)
    [row] = [world.ledger("p").read_json(key) for key in world.ledger("p").keys("samples/")]
    assert row["why_not"] == ["1 of 2 functions did not come in time"]
    assert row["records"] == []


@settings(max_examples=25)
@given(
    budget_bytes=st.integers(64 * MIB, 2 * GIB),
    budget_seconds=st.floats(20, 3600),
    rate=st.floats(50_000, 2e9),
    latency=st.floats(0.0001, 2.0),
    stalls=st.sets(st.integers(0, 200), max_size=5),
)
def test_no_file_system_makes_a_probe_exceed_its_budget(
    budget_bytes: int, budget_seconds: float, rate: float, latency: float, stalls: set[int]
) -> None:
    simulated = Simulated(rate, latency, stalls)
    world = ProbeWorld([], clock=simulated.clock, make=simulated.directory)
    planned = world.plan({"budget_bytes": budget_bytes, "budget_seconds": budget_seconds, "max_functions": 1}, "p")
    world.open("p")
    began = simulated.clock.now()
    for one in planned["rounds"]:
        world.experiment("p", one["number"], 0)
    assert simulated.moved <= budget_bytes
    begun_last: Sequence[float] = simulated.begun or [began]
    assert max(begun_last) <= began + budget_seconds
