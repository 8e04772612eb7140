"""A run that resumes an earlier one copies what that one did not, and nothing is listed twice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.listing.gather_segments import gather_segments
from fanout.listing.list_segment import list_segment
from fanout.model.errors import ListingIncomplete
from fanout.model.segment import Segment
from fanout.partition.partition_shards import partition_shards
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import ManualClock, World
from tests.support.resumed import SMALL_SHARDS, CountingTree, contents, filled, resumed, shards_of, trees


def test_after_failures_only_those_are_copied_and_nothing_is_listed() -> None:
    world = filled()
    source, destination = trees(world)
    destination.broken = {"d0/f003", "d1/f004"}
    assert world.run()["status"] == "FAILED_WITH_ITEMS"
    destination.broken = set()
    following, summary = resumed(world, "run-2")
    assert summary["status"] == "SUCCEEDED"
    assert not source.listed
    assert sorted(destination.created) == ["d0/f003", "d1/f004"]
    assert summary["totals"]["listed"] == {"entries": 30, "bytes": sum(range(30))}
    assert (summary["totals"]["copied"]["entries"], summary["totals"]["unchanged"]["entries"]) == (2, 28)
    assert contents(destination) == contents(source)
    assert summary["notes"] == [
        "this run resumes run-1: what that one had done counts as unchanged where it is still there"
    ]
    reasons = {
        row["reason"] for key in following.ledger.keys("outcomes/listed/") for row in following.ledger.read_rows(key)
    }
    assert reasons == {"done by the run that this one resumes"}


def test_after_a_success_nothing_is_left_to_copy() -> None:
    world = filled(big=1)
    world.run(SMALL_SHARDS)
    _, destination = trees(world)
    _, summary = resumed(world, "run-2")
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["unchanged"] == summary["totals"]["listed"]
    assert summary["totals"]["listed"]["entries"] == 31
    assert not destination.created


def stopped_in_the_middle(world: World) -> None:
    """Every third shard is done, every third half done, and nothing of the rest; then the run is stopped."""
    world.list_all(world.plan(SMALL_SHARDS))
    partition_shards(world.context())
    for number, shard in enumerate(shards_of(world)):
        if number % 3 == 0:
            while not copy_shard(shard, world.context())["done"]:
                pass
        elif number % 3 == 1:
            world.clock.step, world.remaining_seconds = 0.05, 3.0
            copy_shard(shard, world.context())
            world.clock.step, world.remaining_seconds = 0.0, 900.0


def test_after_a_stop_in_the_middle_the_rest_is_copied() -> None:
    world = filled(3000, big=2)
    stopped_in_the_middle(world)
    source, destination = trees(world)
    done_before = len(contents(destination))
    assert 0 < done_before < 3002
    _, summary = resumed(world, "run-2", {"verify": "copied"})
    assert summary["status"] == "SUCCEEDED"
    assert contents(destination) == contents(source)
    assert destination.unfinished_blocks() == 0
    assert not source.listed
    assert summary["totals"]["unchanged"]["entries"] == done_before
    assert summary["totals"]["listed"]["entries"] == 3002
    assert summary["verification"]["differences"] == 0


def test_a_resumed_run_can_be_resumed_from_its_own_ledger_alone() -> None:
    world = filled(big=1)
    source, destination = trees(world)
    destination.broken = {"d0/f003", "d1/f004", "d2/f005"}
    world.run(SMALL_SHARDS)
    destination.broken = {"d1/f004"}
    second, summary = resumed(world, "run-2")
    assert (summary["totals"]["copied"]["entries"], summary["totals"]["failed"]["entries"]) == (2, 1)
    for key in [key for key in world.store._objects if key.startswith("runs/run-1/")]:  # type: ignore[attr-defined]
        del world.store._objects[key]  # type: ignore[attr-defined]
    destination.broken = set()
    third, summary = resumed(second, "run-3")
    assert summary["status"] == "SUCCEEDED"
    assert destination.created == ["d1/f004"]
    assert summary["totals"]["listed"]["entries"] == 31
    assert contents(destination) == contents(source)
    assert third.ledger.read_json("plan.json")["resumes"] == ["run-2", "run-1"]


def test_a_listing_that_broke_off_goes_on_where_it_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    world = filled(600)
    source, _ = trees(world)
    world.clock = ManualClock(step=5.0)
    world.remaining_seconds = 10.0
    reference = world.plan()["list"]
    for row in world.ledger.read_json(reference["key"].removeprefix(world.ledger.prefix)):
        list_segment(convert(row, Segment), world.context())
    reference = gather_segments(reference["round"], world.context())
    rows = world.ledger.read_json(reference["key"].removeprefix(world.ledger.prefix))
    assert len(rows) > 1
    world.clock.step, world.remaining_seconds = 0.0, 900.0
    list_segment(convert(rows[0], Segment), world.context())  # of the last round one segment is recorded

    def broken(*_: object) -> None:
        raise ListingIncomplete("EIO")

    with monkeypatch.context() as patch, pytest.raises(ListingIncomplete):
        patch.setattr(CountingTree, "list", broken)
        list_segment(convert(rows[1], Segment), world.context())
    finish_tree(world.context())
    assert summarise_transfer({"Error": "Infrastructure", "Cause": ""}, world.context())["status"] == "FAILED"
    following, summary = resumed(world, "run-2")
    assert summary["status"] == "SUCCEEDED"
    _, destination = trees(world)
    assert contents(destination) == contents(source)
    assert summary["totals"]["copied"]["entries"] == summary["totals"]["listed"]["entries"] == 600
    left = [convert(row, Segment) for row in rows[1:]]
    expected = sorted((one.prefix, one.after, one.until) for one in left)
    assert sorted((one.prefix, one.after, one.until) for one in source.listed) == expected
    assert following.ledger.read_json("summary.json")["complete_listing"]


@pytest.mark.parametrize("until", ["plan", "list", "gather"])
def test_a_run_that_ended_before_it_partitioned_is_taken_over(until: str) -> None:
    world = filled(40, big=1)
    state = world.plan(SMALL_SHARDS)
    if until != "plan":
        [row] = world.ledger.read_json("segments/round-0001.json")
        list_segment(convert(row, Segment), world.context())
    if until == "gather":
        gather_segments(state["list"]["round"], world.context())
    source, destination = trees(world)
    _, summary = resumed(world, "run-2")
    assert summary["status"] == "SUCCEEDED"
    assert contents(destination) == contents(source)
    assert destination.unfinished_blocks() == 0
    assert bool(source.listed) is (until == "plan")
    assert summary["totals"]["copied"]["entries"] == 41


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_whatever_was_done_the_resumed_run_completes_it(data: st.DataObject) -> None:
    world = filled(200, big=data.draw(st.integers(0, 1)))
    source, destination = trees(world)
    world.list_all(world.plan(SMALL_SHARDS))
    partition_shards(world.context())
    shards = shards_of(world)
    destination.broken = data.draw(st.sets(st.sampled_from(sorted(contents(source))), max_size=5))
    for shard in data.draw(st.lists(st.sampled_from(shards), max_size=len(shards))):
        if data.draw(st.booleans()):
            world.clock.step, world.remaining_seconds = 0.05, data.draw(st.sampled_from([1.0, 3.0, 10.0]))
        try:
            copy_shard(shard, world.context())
        finally:
            world.clock.step, world.remaining_seconds = 0.0, 900.0
    if data.draw(st.booleans()):
        finish_tree(world.context())
    done = {path for path in contents(destination) if not path.startswith("big")}
    destination.broken = set()
    _, summary = resumed(world, "run-2", {"verify": "copied"})
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["balanced"]
    assert summary["totals"]["listed"]["entries"] == len(contents(source))
    assert contents(destination) == contents(source)
    assert not done & set(destination.created)
    assert not source.listed
