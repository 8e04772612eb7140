"""What a resumed run takes over of what the earlier one met, and what it refuses."""

from __future__ import annotations

import pytest

from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import InvalidRequest, ItemError
from fanout.model.outcome import Reason
from tests.support.flow import REQUEST
from tests.support.memory import MemoryTree
from tests.support.resumed import SMALL_SHARDS, CountingTree, contents, filled, resumed, trees


def test_an_entry_that_changed_since_the_listing_fails_with_the_way_out() -> None:
    world = filled()
    source, destination = trees(world)
    destination.broken = {"d0/f003", "d1/f004"}
    world.run()
    destination.broken = set()
    source.put("d0/f003", Kind.FILE, b"another")
    following, summary = resumed(world, "run-2")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    [row] = following.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("d0/f003", "source changed")
    assert row["remedy"].startswith("start the transfer again")


def test_what_the_listing_skipped_or_rejected_stays_so() -> None:
    world = filled(3)
    source, _ = trees(world)
    source.put("a//b", Kind.FILE, b"1")
    source.put("pipe", Kind.SPECIAL)
    first = world.run()
    assert first["totals"]["rejected"]["entries"] == first["totals"]["skipped"]["entries"] == 1
    following, summary = resumed(world, "run-2")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["listed"] == first["totals"]["listed"]
    assert summary["totals"]["rejected"] == first["totals"]["rejected"]
    assert summary["totals"]["skipped"] == first["totals"]["skipped"]
    [row] = following.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("a//b", "empty name component")


def test_what_failed_in_the_listing_is_listed_again_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    world = filled(10, big=2)

    def denied(tree: CountingTree, entry: Entry, attributes: Attributes) -> str:
        if entry.path == "big0":
            raise ItemError(Reason.DESTINATION_DENIED, "no")
        return MemoryTree.begin_blocks(tree, entry, attributes)

    with monkeypatch.context() as patch:
        patch.setattr(CountingTree, "begin_blocks", denied)
        assert world.run(SMALL_SHARDS)["totals"]["failed"]["entries"] == 1
    source, destination = trees(world)
    _, summary = resumed(world, "run-2")
    assert summary["status"] == "SUCCEEDED"
    assert (summary["totals"]["listed"]["entries"], summary["totals"]["copied"]["entries"]) == (12, 1)
    assert len(source.listed) == 1
    assert [entry.path for entry in source.list(source.listed[0])] == ["big0"]
    assert contents(destination) == contents(source)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resume_from": "run-0"}, "resume_from: run-0 has no ledger here.*start the request again"),
        ({"resume_from": "run-2"}, "resume_from: 'run-2' is not allowed"),
        ({"resume_from": "../x"}, "resume_from: '../x' is not a run"),
        ({"resume_from": 7}, "resume_from: 7 is not allowed"),
        ({"resume_from": "run-1", "source": "s3://another/"}, "source: s3://another/ is not the s3://a-bucket/tree/"),
        ({"resume_from": "run-1", "compare": "always"}, "compare: always is not the size-mtime of run-1"),
        ({"resume_from": "run-1", "symlinks": "skip"}, "symlinks: skip is not the keep"),
        ({"resume_from": "run-1", "mode": "verify"}, "mode: verify is not the copy"),
        ({"resume_from": "run-1", "colour": 1}, "colour: unknown field"),
    ],
)
def test_a_request_that_can_not_be_resumed_is_refused_by_name(given: Json, message: str) -> None:
    world = filled(2)
    world.run()
    with pytest.raises(InvalidRequest, match=message):
        world.next_run("run-2").plan(given)
    assert not list(world.next_run("run-2").ledger.keys(""))


def test_limits_and_verification_may_differ_and_the_rest_is_taken_over() -> None:
    world = filled(2)
    world.run({**SMALL_SHARDS, "on_conflict": "skip"})
    following = world.next_run("run-2")
    following.plan({"resume_from": "run-1", "verify": "all", "limits": {"max_concurrency": 3}})
    plan = following.ledger.read_plan()
    assert (plan.request.on_conflict.value, plan.request.verify.value) == ("skip", "all")
    assert (plan.request.limits.max_concurrency, plan.request.limits.shard_seconds) == (3, 0.1)


@pytest.mark.parametrize("file", ["request.json", "plan.json"])
def test_a_ledger_of_another_version_is_refused(file: str) -> None:
    world = filled(2)
    world.run()
    world.ledger.write_json(file, {**world.ledger.read_json(file), "schema_version": 99})
    with pytest.raises(InvalidRequest, match="another version"):
        world.next_run("run-2").plan({"resume_from": "run-1"})


def test_a_plan_is_not_resumed() -> None:
    world = filled(2)
    world.run({**REQUEST, "mode": "plan"})
    with pytest.raises(InvalidRequest, match="run-1 is a run of mode plan"):
        world.next_run("run-2").plan({"resume_from": "run-1"})


def test_a_run_that_resumes_verifies_both_whole_trees_if_asked() -> None:
    world = filled()
    _, destination = trees(world)
    destination.broken = {"d0/f003"}
    world.run()
    destination.broken = set()
    _, summary = resumed(world, "run-2", {"verify": "all"})
    assert summary["status"] == "SUCCEEDED"
    assert summary["verification"]["compared"]["entries"] == 30
