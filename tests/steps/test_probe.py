"""A probe over a real directory: what it finds, that it leaves nothing, and what becomes of it when something fails."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.adapters.memory_meter import MemoryMeter
from fanout.adapters.posix.probe_directory import ABANDONED_SECONDS, MARKER, MARKER_TEXT, NAME_PREFIX
from fanout.domain.calibration import calibration_of
from fanout.domain.efs_model import ThroughputMode, most_credits
from fanout.domain.errors import AccessDenied, InvalidRequest, ItemError, Unreachable
from fanout.domain.limits import GIB
from fanout.domain.measurement import CREDITS, Described, Reading
from fanout.domain.outcomes import Reason
from fanout.domain.probing import Experiment
from fanout.ports import ProbeDirectory, ProbeFile
from tests.support.probes import MIB, SMALL, ProbeWorld, Simulated, WallClock

SCHEMA = Path(__file__).parents[2] / "docs" / "probe.schema.json"


def by_name(result: Any) -> dict[str, Any]:
    return {experiment["name"]: experiment for experiment in result["experiments"]}


def test_a_probe_measures_everything_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("stays")
    world = ProbeWorld([tmp_path])
    result = world.run({**SMALL, "budget_bytes": 256 * MIB})
    jsonschema.validate(result, json.loads(SCHEMA.read_text()))
    assert (result["status"], result["error"]) == ("SUCCEEDED", None)
    assert {name for name, one in by_name(result).items() if one["points"]} == set(Experiment)
    assert result["budget"]["bytes_used"] <= 256 * MIB
    assert by_name(result)["read_by_functions"]["read_by_other_functions"] is True
    assert os.listdir(tmp_path) == ["mine"]
    found = calibration_of(result)
    assert found is not None and set(found.functions) == {1, 2}
    latest = world.ledger("other").of_file_system("data")
    assert latest.read_json("latest.json") == result


def test_below_a_directory_of_the_mount(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    world = ProbeWorld([tmp_path])
    planned = world.plan({**SMALL, "path": "/scratch"}, "p")
    world.open("p")
    assert os.listdir(tmp_path / "scratch") == [f"{NAME_PREFIX}p"]
    world.rounds("p", planned["rounds"][:1])
    world.close("p")
    assert os.listdir(tmp_path / "scratch") == []
    world.close("p")  # a second attempt


@pytest.mark.parametrize("kind", ["missing", "file", "symlink"])
def test_a_path_that_is_no_directory_is_refused(tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    mount = tmp_path / "mount"
    mount.mkdir()
    if kind == "file":
        (mount / "x").write_text("")
    if kind == "symlink":
        (mount / "x").symlink_to(outside)
    world = ProbeWorld([mount])
    world.plan({**SMALL, "path": "/x"}, "p")
    with pytest.raises(InvalidRequest) as refused:
        world.open("p")
    assert refused.value.field == "path"
    assert os.listdir(outside) == []


def abandoned(mount: Path, name: str, *, marked: bool = True, seconds: float = ABANDONED_SECONDS + 60) -> Path:
    directory = mount / f"{NAME_PREFIX}{name}"
    (directory / "00-00" / "0").mkdir(parents=True)
    (directory / "00-00" / "0" / "file").write_bytes(bytes(100))
    if marked:
        (directory / MARKER).write_bytes(MARKER_TEXT)
    age(directory, seconds)
    return directory


def age(directory: Path, seconds: float = ABANDONED_SECONDS + 60) -> None:
    past = WallClock().now() - seconds
    os.utime(directory, (past, past))


def test_the_next_probe_removes_what_a_stopped_one_left_and_follows_no_symlink(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("stays")
    mount = tmp_path / "mount"
    mount.mkdir()
    left = abandoned(mount, "stopped")
    (left / "link").symlink_to(outside)
    (left / "00-00" / "link").symlink_to(outside)
    age(left)
    (mount / f"{NAME_PREFIX}link").symlink_to(outside)
    world = ProbeWorld([mount])
    world.plan(SMALL, "p")
    world.open("p")
    assert sorted(os.listdir(mount)) == [f"{NAME_PREFIX}link", f"{NAME_PREFIX}p"]
    assert (outside / "precious").read_text() == "stays"


def test_it_removes_only_what_is_a_probe_s(tmp_path: Path) -> None:
    unmarked = abandoned(tmp_path, "unmarked", marked=False)
    other = tmp_path / ".fanout-staging-run-1"
    other.mkdir()
    world = ProbeWorld([tmp_path])
    world.plan(SMALL, "p")
    world.open("p")
    assert unmarked.is_dir() and other.is_dir()


def test_two_probes_at_once_are_refused(tmp_path: Path) -> None:
    working = abandoned(tmp_path, "first", seconds=10)
    world = ProbeWorld([tmp_path])
    world.plan(SMALL, "p")
    with pytest.raises(InvalidRequest, match="another probe is at work there"):
        world.open("p")
    assert working.is_dir() and os.listdir(tmp_path) == [working.name]


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "probe"),
        ({"budget": 1}, "budget"),
        ({"budget_bytes": "1 KiB"}, "budget_bytes"),
        ({"budget_bytes": "much"}, "budget_bytes"),
        ({"budget_bytes": "2000 GiB"}, "budget_bytes"),
        ({"budget_seconds": 5}, "budget_seconds"),
        ({"max_functions": 33}, "max_functions"),
        ({"path": "/../x"}, "path"),
        ({"credit_reserve_percent": 101}, "credit_reserve_percent"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, document: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        ProbeWorld([tmp_path]).plan(document, "p")
    assert refused.value.field == field


def test_a_ledger_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    world = ProbeWorld([tmp_path])
    planned = world.plan(SMALL, "p")
    assert world.plan(SMALL, "p")["rounds"] == planned["rounds"]  # a second attempt of the task
    world.ledger("p").write_json("plan.json", {})
    with pytest.raises(InvalidRequest, match="earlier run"):
        world.plan(SMALL, "p")


NOW = WallClock().now()
BURSTING = Described(ThroughputMode.BURSTING, "generalPurpose", False, 100 * GIB, 0, 0, 0)


def asked(credits: float | None) -> ProbeWorld:
    meter = MemoryMeter({"fs-1": BURSTING})
    if credits is not None:
        meter.metrics["fs-1"] = {CREDITS: [Reading(NOW - 60, credits)]}
    return ProbeWorld([], meter=meter, file_system_ids={"data": "fs-1"})


def test_credits_that_are_missing_or_too_few_refuse_the_probe() -> None:
    assert asked(most_credits(0)).plan(SMALL, "p")["rounds"]
    for credits in (None, 0.2 * most_credits(0)):
        with pytest.raises(InvalidRequest, match="burst credits that may be spent, 0 MiB"):
            asked(credits).plan(SMALL, "p")


@pytest.mark.parametrize("error", [Unreachable("no answer"), AccessDenied("x", "fs-1", "allow it")])
def test_a_file_system_that_can_not_be_asked_is_not_probed(error: Any) -> None:
    world = asked(most_credits(0))
    world.meter.refuses = error
    with pytest.raises(type(error)):
        world.plan(SMALL, "p")
    assert list(world.ledger("p").keys("")) == []


class Failing:
    """A directory whose files fail from the ``after``-th block of all on."""

    def __init__(self, inner: ProbeDirectory, failing: Callable[[], None]) -> None:
        self._inner, self._failing = inner, failing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create(self, path: str, *, shared: bool = False) -> ProbeFile:
        return _FailingFile(self._inner.create(path, shared=shared), self._failing)


class _FailingFile:
    def __init__(self, inner: ProbeFile, failing: Callable[[], None]) -> None:
        self._inner, self._failing = inner, failing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, offset: int, data: bytes | memoryview) -> None:
        self._failing()
        self._inner.write(offset, data)


@pytest.mark.parametrize(
    ("reason", "message"), [(Reason.NO_SPACE, "write at the destination: ENOSPC"), (Reason.TRANSIENT, "EIO")]
)
def test_an_experiment_that_fails_is_a_row_and_the_others_go_on(tmp_path: Path, reason: Reason, message: str) -> None:
    calls = itertools.count()

    def fail_early() -> None:
        if next(calls) < 3:
            raise ItemError(reason, message)

    world = ProbeWorld([tmp_path], wrap=lambda directory: Failing(directory, fail_early))
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

    def die() -> None:
        raise KeyboardInterrupt

    world.wrap = lambda directory: Failing(directory, die)
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
    world = ProbeWorld([tmp_path], wrap=lambda inner: Failing(inner, lambda: release.wait(60) and None))  # type: ignore[arg-type]
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
    began = simulated.clock.now()
    for one in planned["rounds"]:
        world.experiment("p", one["number"], 0)
    assert simulated.moved <= budget_bytes
    begun_last: Sequence[float] = simulated.begun or [began]
    assert max(begun_last) <= began + budget_seconds
