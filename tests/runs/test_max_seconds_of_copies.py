"""``limits.max_seconds`` of a copy with ``verify: copied``: a chain of retries verifies every copy, in any run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fanout.facts import tuning
from fanout.facts.units import MIB
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.errors import OutOfTime
from fanout.model.outcome import Result
from fanout.ports.limiter import NoLimits
from fanout.resuming.earlier_run import outcomes_of
from fanout.shards.partitioned import shards_of
from fanout.summary.summarise_transfer import summarise_transfer
from tests.runs.test_max_seconds_of_moves import FILES_PER_SECOND, another, in_place, moving
from tests.support.flow import World
from tests.support.mounts import world_of
from tests.support.moves import held, reasons

COPY: Json = {"source": "efs:///in", "destination": "efs:///out", "verify": "copied"}


@pytest.fixture(autouse=True)
def one_operation_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "CLIENT_OPERATIONS_IN_FLIGHT", 1)


def ended(world: World, max_seconds: float, resumes: str = "", **more: Any) -> Json:
    """The summary of a run, which may stop at its limit."""
    request: Json = {**COPY, "limits": {"max_seconds": max_seconds, "files_per_second": FILES_PER_SECOND}, **more}
    if resumes:
        request["resume_from"] = resumes
    try:
        return world.run(request)
    except OutOfTime as error:
        caught = {"Error": "OutOfTime", "Cause": json.dumps({"errorMessage": str(error)})}
        summarise_transfer(caught, world.context())
    summary: Json = world.ledger.read_json("summary.json")
    return summary


def verified(world: World) -> Counter[str]:
    """The paths that a run verified and found equal."""
    found = (outcomes_of(keys.verified_id(shard.id), world.ledger).values() for shard in shards_of(world.ledger))
    return Counter(one.path for outcomes in found for one in outcomes if one.result is Result.COPIED)


def chain(world: World, mount: Path, max_seconds: float, runs: int = 30) -> tuple[Json, list[World]]:
    """Retry of retry until a run succeeds; its summary, and the runs."""
    worlds = [world]
    summary = ended(world, max_seconds)
    while summary["status"] != "SUCCEEDED" and len(worlds) < runs:
        assert summary["error"]["name"] == "OutOfTime", summary
        assert "got no further" not in summary["error"]["message"]
        before = worlds[-1].run_id
        worlds.append(another(worlds[-1], mount, f"run-{len(worlds) + 1}"))
        summary = ended(worlds[-1], max_seconds, before)
    return summary, worlds


@pytest.mark.parametrize("max_seconds", [5, 9, 14, 20])
def test_a_chain_of_retries_verifies_every_copy_once(tmp_path: Path, max_seconds: float) -> None:
    world, contents = moving(tmp_path)
    summary, worlds = chain(world, tmp_path, max_seconds)
    assert summary["status"] == "SUCCEEDED", summary["error"]
    assert len(worlds) > 1
    assert held(tmp_path / "out") == contents
    found = sum((verified(one) for one in worlds), Counter[str]())
    copied = {f"d{number}/" for number in range(4)} | (contents.keys() - {"d1/name"}) | {"d2/link"}
    assert set(found) - {"d1/name"} == copied
    assert set(found.values()) == {1}
    assert summary["totals"]["listed"]["entries"] == sum(
        summary["totals"][one]["entries"] for one in ("copied", "unchanged", "failed", "skipped", "rejected")
    )


def stopped_after_copies(mount: Path, **more: Any) -> World:
    """A run that copied some files, and verified none."""
    world, _ = moving(mount)
    summary = ended(world, 9, **more)
    assert summary["error"]["name"] == "OutOfTime"
    assert summary["totals"]["copied"]["entries"] > 10
    assert not verified(world)
    return world


def copied_by(world: World) -> str:
    """A file that a run copied."""
    outcomes = (one for shard in shards_of(world.ledger) for one in outcomes_of(shard.id, world.ledger).values())
    return next(one.path for one in outcomes if one.result is Result.COPIED and "/f1" in one.path)


@pytest.mark.parametrize("between", [0, 1])
def test_a_copy_that_was_not_verified_is_before_the_chain_succeeds(tmp_path: Path, between: int) -> None:
    """Also where a run between them could not come to it."""
    world = stopped_after_copies(tmp_path)
    changed = copied_by(world)
    in_place(tmp_path / "out" / changed)
    for number in range(between):
        before, world = world.run_id, another(world, tmp_path, f"run-{number + 2}")
        assert ended(world, 6, before)["error"]["name"] == "OutOfTime"
    last = another(world, tmp_path, "run-9")
    summary = ended(last, 1000, world.run_id)
    assert summary["status"] == "FAILED_WITH_ITEMS", summary
    assert summary["verification"]["differences"] == 1
    again = another(last, tmp_path, "run-10")
    assert ended(again, 1000, "run-9")["status"] == "SUCCEEDED"
    assert (tmp_path / "out" / changed).read_bytes() == (tmp_path / "in" / changed).read_bytes()


def test_copies_of_runs_that_verified_nothing_are_verified_once_a_run_asks_for_it(tmp_path: Path) -> None:
    """Two such runs: what the second one took over has an outcome alone."""
    world = stopped_after_copies(tmp_path, verify="none")
    changed = copied_by(world)
    in_place(tmp_path / "out" / changed)
    second = another(world, tmp_path, "run-2")
    assert ended(second, 1, "run-1", verify="none")["error"]["name"] == "OutOfTime"
    last = another(second, tmp_path, "run-3")
    assert ended(last, 1000, "run-2", verify="copied")["status"] == "FAILED_WITH_ITEMS"
    assert reasons(last)[changed] == "checksum differs"


def test_a_big_file_that_was_not_verified_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a whole where one function can read it; it is copied again where none can."""
    for most, copied in ((1 << 33, 0), (10, 1)):
        mount = tmp_path / str(most)
        (mount / "in").mkdir(parents=True)
        (mount / "in/big").write_bytes(data := b"b" * (9 * MIB))
        monkeypatch.setattr(tuning, "COMPARE_BYTES", most)
        world = world_of(mount)
        limits = {"max_seconds": 1000, "split_bytes": 8 * MIB}
        assert ended(world, 1000, verify="none", limits=limits)["status"] == "SUCCEEDED"
        in_place(mount / "out/big")
        last = another(world, mount, "run-2")
        summary = ended(last, 1000, "run-1", limits=limits)
        assert summary["totals"]["copied"]["entries"] == copied
        if copied:
            assert (mount / "out/big").read_bytes() == data
        else:
            assert reasons(last) == {"big": "checksum differs"}


def test_names_of_a_file_stay_names_where_its_copy_has_to_be_verified(tmp_path: Path) -> None:
    world = stopped_after_copies(tmp_path, verify="none")
    last = another(world, tmp_path, "run-2")
    last.limiter = NoLimits()
    assert ended(last, 1000, "run-1")["status"] == "SUCCEEDED"
    names = [tmp_path / "out" / name for name in ("d0/f00", "d1/name")]
    assert len({name.stat().st_ino for name in names}) == 1
