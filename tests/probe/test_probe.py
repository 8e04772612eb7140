"""A probe over a real directory: what it finds, that it leaves nothing, and what becomes of it when something fails."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fanout.adapters.posix.probe.probe_directory import ABANDONED_SECONDS
from fanout.efs.capacity import most_credits
from fanout.efs.probe_result import NEWEST_RESULT, Experiment
from fanout.facts.units import GIB
from fanout.model.errors import AccessDenied, InvalidRequest, Unreachable
from fanout.model.file_system import CREDITS, Described, Reading, ThroughputMode
from fanout.model.path_rules import PROBE_PREFIX
from tests.probe.probe_writes import BeforeWrites
from tests.support.memory_meter import MemoryMeter
from tests.support.probes import MIB, SCHEMA, SMALL, ProbeWorld, WallClock, by_name


def at_speed(size: int) -> None:
    """100 MiB/s: not so fast that one function has done its part before the other one is awake."""
    time.sleep(size / (100 * MIB))


def test_a_probe_measures_everything_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("stays")
    world = ProbeWorld([tmp_path], wrap=lambda directory: BeforeWrites(directory, at_speed))
    result = world.run({**SMALL, "budget_bytes": 256 * MIB})
    jsonschema.validate(result, json.loads(SCHEMA.read_text()))
    assert (result["status"], result["error"]) == ("SUCCEEDED", None)
    assert {name for name, one in by_name(result).items() if one["points"]} == set(Experiment)
    assert result["budget"]["bytes_used"] <= 256 * MIB
    assert by_name(result)["read_by_functions"]["read_by_other_functions"] is True
    assert os.listdir(tmp_path) == ["mine"]
    latest = world.ledger("other").of_file_system("data")
    assert latest.read_json("latest.json") == result
    found = latest.read(NEWEST_RESULT).calibration
    assert found is not None and set(found.functions) == {1, 2}


def test_below_a_directory_of_the_mount(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    world = ProbeWorld([tmp_path])
    planned = world.plan({**SMALL, "path": "/scratch"}, "p")
    world.open("p")
    assert os.listdir(tmp_path / "scratch") == [f"{PROBE_PREFIX}p"]
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


def stopped(world: ProbeWorld, name: str, seconds: float = ABANDONED_SECONDS + 60) -> Path:
    """What a probe left that was stopped: its directory with files in it, which its ledger notes."""
    world.plan(SMALL, name)
    world.open(name)
    directory = world.mounts[0] / f"{PROBE_PREFIX}{name}"
    (directory / "00-00" / "0").mkdir(parents=True)
    (directory / "00-00" / "0" / "file").write_bytes(bytes(100))
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
    world = ProbeWorld([mount])
    left = stopped(world, "stopped")
    (left / "link").symlink_to(outside)
    (left / "00-00" / "link").symlink_to(outside)
    age(left)
    (mount / f"{PROBE_PREFIX}link").symlink_to(outside)
    world.plan(SMALL, "p")
    world.open("p")
    assert sorted(os.listdir(mount)) == [f"{PROBE_PREFIX}link", f"{PROBE_PREFIX}p"]
    assert (outside / "precious").read_text() == "stays"


def test_it_removes_only_what_a_ledger_notes_as_a_probe_s(tmp_path: Path) -> None:
    world = ProbeWorld([tmp_path])
    expired = stopped(world, "expired")
    world.store.remove([f"runs/expired/{key}" for key in world.ledger("expired").keys("")])
    other = tmp_path / ".fanout-staging-run-1"
    other.mkdir()
    result = world.run(SMALL, "p")
    assert expired.is_dir() and other.is_dir()
    (note,) = result["notes"]
    assert note.startswith(f"/{expired.name} is a directory that no ledger of this stack notes: it was left there")
    assert expired.name in world.ledger("p").read_bytes("probe.html").decode()


def test_two_probes_at_once_are_refused(tmp_path: Path) -> None:
    world = ProbeWorld([tmp_path])
    working = stopped(world, "first", seconds=10)
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
