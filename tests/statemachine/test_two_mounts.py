"""Between two mounts: each state on the side that it is about, and a shard staged and written in turn."""

from __future__ import annotations

import pytest

from fanout.model.errors import InvalidRequest, LedgerBroken

from .engine import Engine
from .failing import always


def test_each_side_is_checked_listed_and_copied_by_its_own_function(engine: Engine) -> None:
    engine.transfer(two_mounts=True)
    assert engine.run().status == "SUCCEEDED"
    assert engine.service.called() == [
        *("PlanTransfer", "CheckMount", "CheckOtherMount", "ListDestination", "ListSegment", "GatherSegments"),
        *("PartitionShards", "PackShard", "UnpackShard", "FinishTree", "SummariseTransfer"),
    ]
    called = (name for name in engine.service.called() if name != "PlanTransfer")
    assert all(engine.service.calls(name)[0]["step"] == name for name in called)


def test_a_segment_is_listed_at_the_destination_first(engine: Engine) -> None:
    engine.transfer(two_mounts=True, rounds=(("0",), ("1", "2")))
    assert engine.run().status == "SUCCEEDED"
    for name in ("ListDestination", "ListSegment"):
        assert sorted(call["segment"] for call in engine.service.calls(name)) == ["0", "1", "2"]


def test_a_shard_goes_between_the_sides_until_it_is_done(engine: Engine) -> None:
    """Three tails: of what is staged, of what is not yet, of what is staged."""
    engine.transfer(two_mounts=True, shards=("a", "b"), cursors={"b": (10, 20, 30)})
    assert engine.run().status == "SUCCEEDED"
    calls = {name: engine.service.calls(name) for name in ("PackShard", "UnpackShard")}
    of_b = {name: sum(call["shard"] == "b" for call in found) for name, found in calls.items()}
    assert of_b == {"PackShard": 2, "UnpackShard": 4}


def test_where_bytes_are_compared_the_destination_is_read_first(engine: Engine) -> None:
    engine.transfer(two_mounts=True, digests=True, shards=("a", "b"), cursors={"b": (10,)})
    assert engine.run().status == "SUCCEEDED"
    called = engine.service.called()
    assert called.count("DigestDestination") == 3
    assert called.index("DigestDestination") < called.index("PackShard") < called.index("UnpackShard")
    assert all(call["step"] == "DigestDestination" for call in engine.service.calls("DigestDestination"))


@pytest.mark.parametrize("task", ["DigestDestination", "PackShard", "UnpackShard"])
def test_a_shard_that_fails_for_good_is_recorded_and_the_run_goes_on(engine: Engine, task: str) -> None:
    engine.transfer(two_mounts=True, digests=True, shards=("a", "b"))
    engine.service.functions[task] = always(LedgerBroken("no shard"))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "FailedWithItems")
    recorded = engine.service.calls("RecordShardFailure")
    assert sorted(call["shard"] for call in recorded) == ["a", "b"]
    assert all(call["error"]["Error"] == "LedgerBroken" for call in recorded)
    assert engine.service.called()[-2:] == ["FinishTree", "SummariseTransfer"]


def test_a_run_that_is_refused_at_the_second_mount_leaves_nothing_at_the_first(engine: Engine) -> None:
    engine.transfer(two_mounts=True)
    engine.service.functions["CheckOtherMount"] = always(InvalidRequest("destination", "/x is a file", "name another"))
    assert engine.run().error == "InvalidRequest"
    checked = ["PlanTransfer", "CheckMount", "CheckOtherMount"]
    assert engine.service.called() == [*checked, "FinishTree", "SummariseTransfer"]


def test_a_destination_that_can_not_be_listed_ends_the_run(engine: Engine) -> None:
    engine.transfer(two_mounts=True)
    engine.service.functions["ListDestination"] = always(LedgerBroken("unreadable"))
    assert engine.run().status == "FAILED"
    assert engine.service.called()[-2:] == ["FinishTree", "SummariseTransfer"]
    assert engine.service.calls("ListSegment") == []


def test_extras_are_looked_for_at_the_source_before_they_go(engine: Engine) -> None:
    engine.transfer(two_mounts=True, shards=(), extras=("x", "y"), cursors={"y": (1,)}, passes=2)
    assert engine.run().status == "SUCCEEDED"
    called = engine.service.called()
    assert called.count("LookAtSource") == called.count("DeleteShard") == 3
    assert called[-5:-1] == [*["LookAtDirectories"] * 2, *["RemoveDirectories"] * 2]
    for name in ("LookAtSource", "LookAtDirectories", "DeleteShard"):
        assert all(call["step"] == name for call in engine.service.calls(name))


def test_nothing_goes_where_the_source_cannot_be_looked_at(engine: Engine) -> None:
    engine.transfer(two_mounts=True, shards=(), extras=("x",))
    for task in ("LookAtSource", "LookAtDirectories"):
        engine.service.functions[task] = always(LedgerBroken("unreadable"))
    assert engine.run().status == "FAILED"
    assert engine.service.calls("DeleteShard") == []
    assert "error" in engine.service.calls("RemoveDirectories")[0]["state"]


@pytest.mark.parametrize("options", [{"mode": "verify"}, {"verify": "all"}, {"verify": "copied"}], ids=str)
def test_what_is_verified_is_read_at_the_source_first(engine: Engine, options: dict[str, str]) -> None:
    engine.transfer(two_mounts=True, shards=("a", "b"), cursors={"b": (1,)} if "mode" in options else {}, **options)
    assert engine.run().status == "SUCCEEDED"
    called = engine.service.called()
    assert called.count("DigestShard") == called.count("VerifyShard") == (3 if "mode" in options else 2)
    assert all(call["step"] == "DigestShard" for call in engine.service.calls("DigestShard"))
