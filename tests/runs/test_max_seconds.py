"""``limits.max_seconds``: the run stops after so long, says so, and another one goes on."""

from __future__ import annotations

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.copying.record_shard_failure import record_shard_failure
from fanout.facts import tuning
from fanout.model.errors import OutOfTime
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.resuming.carry_over import list_or_carry_over
from fanout.summary.summarise_transfer import summarise_transfer
from tests.runs.limited import ended, filled
from tests.support.flow import REQUEST
from tests.support.memory import MemoryTree

LIMITED = {**REQUEST, "limits": {"max_seconds": 100}}
CAUGHT = {"Error": "OutOfTime", "Cause": '{"errorMessage": "limits.max_seconds: over"}'}


def test_a_run_that_is_quick_enough_does_not_notice() -> None:
    world = filled()
    world.list_all(world.plan(LIMITED))
    world.copy_all()
    world.finish_all()
    assert summarise_transfer(None, world.context())["status"] == "SUCCEEDED"


def test_shards_that_the_time_does_not_reach_are_left_to_the_run_that_resumes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 10)
    world = filled()
    world.list_all(world.plan(LIMITED))
    partition_shards(world.context())
    first, *others = [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
    assert others
    assert copy_shard(first, world.context())["done"]
    world.clock.time += 100
    for shard in others:
        with pytest.raises(OutOfTime, match=r"limits\.max_seconds: the run stops after 100 s$"):
            copy_shard(shard, world.context())
        assert record_shard_failure(shard, CAUGHT, world.context()) == {"failed": 0}
    world.finish_all()
    ended = summarise_transfer(None, world.context())
    assert (ended["status"], ended["error"]) == ("FAILED", "OutOfTime")
    assert "start the request again with resume_from run-1" in ended["cause"]

    world.run_id = "run-2"
    state = world.plan({**LIMITED, "resume_from": "run-1"})
    world.list_all(state)
    world.copy_all()
    world.finish_all()
    assert summarise_transfer(None, world.context())["status"] == "SUCCEEDED"
    assert isinstance(world.destination, MemoryTree) and isinstance(world.source, MemoryTree)
    copied = {path: found.data for path, found in world.destination.contents().items()}
    assert copied == {path: found.data for path, found in world.source.contents().items()}


RESUMED = "start the request again with resume_from run-1 and a higher limits.max_seconds"


@pytest.mark.parametrize(
    ("mode", "way_on"),
    [
        *((mode, RESUMED) for mode in ("copy", "sync", "verify")),
        ("plan", RESUMED.replace("resume_from run-1 and ", "")),
    ],
)
def test_a_run_that_did_nothing_asks_for_more_time(mode: str, way_on: str) -> None:
    world = filled()
    world.plan({**LIMITED, "mode": mode})
    world.clock.time += 100
    ended = summarise_transfer(CAUGHT, world.context())
    assert ended["cause"].endswith(f"this run got no further with it: {way_on}")


def test_a_sync_that_copied_is_started_again() -> None:
    world = filled()
    world.list_all(world.plan({**LIMITED, "mode": "sync"}))
    world.copy_all()
    world.clock.time += 100
    ended = summarise_transfer(CAUGHT, world.context())
    assert ended["cause"].endswith("; start the request again with resume_from run-1: what is done is found unchanged")


def test_a_sync_whose_copies_are_not_verified_says_what_verifies_them() -> None:
    """The next run finds them unchanged, so ``verify: copied`` is not about them."""
    world = filled()
    world.list_all(world.plan({**LIMITED, "mode": "sync", "verify": "copied"}))
    world.copy_all()
    world.clock.time += 100
    ended = summarise_transfer(CAUGHT, world.context())
    assert ended["cause"].endswith("is found unchanged and not verified again, so verify it with mode verify")
    world.run_id = "run-2"
    assert world.run({**REQUEST, "mode": "sync", "verify": "copied"})["verification"]["compared"]["entries"] == 0


def test_a_listing_that_the_time_ends_says_so() -> None:
    world = filled()
    state = world.plan(LIMITED)
    world.clock.time += 100
    (row,) = world.ledger.read_json(state["list"]["key"].removeprefix(world.ledger.prefix))
    with pytest.raises(OutOfTime):
        list_or_carry_over(convert(row, Segment), world.context())
    caught = {"Error": "States.ExceedToleratedFailureThreshold", "Cause": ""}
    assert summarise_transfer(caught, world.context())["error"] == "OutOfTime"


def test_a_map_that_broke_off_after_the_end_broke_off_for_it() -> None:
    world = filled()
    world.list_all(world.plan(LIMITED))
    world.copy_all()
    world.finish_all()
    caught = {"Error": "States.ExceedToleratedFailureThreshold", "Cause": ""}
    assert ended(caught, world) == "Infrastructure"
    world.clock.time += 100
    assert ended(caught, world) == "OutOfTime"
    assert ended({"Error": "AccessDenied", "Cause": ""}, world) == "AccessDenied"


def test_a_task_stops_when_the_run_does() -> None:
    world = filled()
    world.list_all(world.plan(LIMITED))
    plan = world.ledger.read_plan()
    assert world.context().within(plan).ends_at == pytest.approx(plan.began + 100)
    unlimited = world.context()
    assert plan.ends_at is not None and unlimited.ends_at > plan.ends_at
