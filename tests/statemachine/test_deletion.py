"""A sync deletes last, in shards with tails, and never after an error; a plan does nothing at all."""

from __future__ import annotations

import pytest

from fanout.flow.events import deletes_later, has_broken_off
from fanout.model.errors import DeleteRefused, LedgerBroken

from .engine import Engine
from .failing import always

DELETION = {"BeginDeletion", "DeleteShard", "RemoveDirectories"}


def test_extras_go_after_the_copies_files_first_each_with_its_tail(engine: Engine) -> None:
    engine.transfer(shards=("a",), extras=("x", "y"), cursors={"y": (1,)}, passes=2, verify="copied")
    assert engine.run().status == "SUCCEEDED"
    called = engine.service.called()
    assert called.count("DeleteShard") == 3
    first = [called.index(name) for name in ("CopyShard", "FinishTree", "BeginDeletion", "DeleteShard")]
    assert first == sorted(first)
    assert called[-4:] == ["RemoveDirectories", "RemoveDirectories", "VerifyShard", "SummariseTransfer"]


def test_extras_go_also_where_nothing_is_copied(engine: Engine) -> None:
    engine.transfer(shards=(), extras=("x",))
    assert engine.run().status == "SUCCEEDED"
    assert engine.service.called()[-4:] == ["BeginDeletion", "DeleteShard", "RemoveDirectories", "SummariseTransfer"]


def test_what_begin_deletion_refuses_is_left_alone(engine: Engine) -> None:
    engine.transfer(shards=("a",), extras=("x",), deletes=False)
    assert engine.run().status == "SUCCEEDED"
    # RemoveDirectories removes the run's staging directory, whatever it deletes.
    assert engine.service.called()[-3:] == ["BeginDeletion", "RemoveDirectories", "SummariseTransfer"]


@pytest.mark.parametrize("state", ["ListSegment", "GatherSegments", "PartitionShards", "FinishTree", "BeginDeletion"])
def test_after_an_error_nothing_is_deleted(engine: Engine, state: str) -> None:
    engine.transfer(shards=("a",), extras=("x",))
    engine.service.functions[state] = always(LedgerBroken("broken"))
    assert engine.run().status == "FAILED"
    assert "DeleteShard" not in engine.service.called()
    left = [has_broken_off(event) for event in engine.service.calls("RemoveDirectories")]
    assert left == ([True] if state == "BeginDeletion" else [])


def test_a_refused_sync_copies_nothing_and_says_so(engine: Engine) -> None:
    engine.transfer(shards=("a",), extras=("x",))
    engine.service.functions["PartitionShards"] = always(DeleteRefused("over delete_guard.max_percent"))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "DeleteRefused")
    assert {"CopyShard", *DELETION}.isdisjoint(engine.service.called())


def test_a_shard_that_can_not_be_deleted_leaves_the_others_and_the_summary(engine: Engine) -> None:
    engine.transfer(shards=("a",), extras=("x", "y"))
    engine.service.functions["DeleteShard"] = always(LedgerBroken("no shard"))
    engine.run()
    assert engine.service.called().count("DeleteShard") == 2
    assert engine.service.called()[-2:] == ["RemoveDirectories", "SummariseTransfer"]


def test_a_plan_ends_after_the_partition(engine: Engine) -> None:
    engine.transfer(shards=("a",), mode="plan")
    assert engine.run().status == "SUCCEEDED"
    assert engine.service.called()[-2:] == ["PartitionShards", "SummariseTransfer"]
    assert {"CopyShard", "FinishTree", *DELETION}.isdisjoint(engine.service.called())


@pytest.mark.parametrize(("extras", "broken", "expected"), [((), "", False), (("x",), "", True), (("x",), "b", False)])
def test_finish_tree_knows_whether_anything_is_deleted_after_it(
    engine: Engine, extras: tuple[str, ...], broken: str, expected: bool
) -> None:
    engine.transfer(shards=("a",), extras=extras)
    if broken:
        engine.service.functions["GatherSegments"] = always(LedgerBroken(broken))
    engine.run()
    assert [deletes_later(event) for event in engine.service.calls("FinishTree")] == [expected]
