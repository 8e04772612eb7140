"""Verification: of what was copied, of both trees after a copy, or instead of one."""

from __future__ import annotations

from fanout.model.errors import LedgerBroken

from .engine import Engine
from .failing import always


def test_what_was_copied_is_verified_over_the_same_shards_with_tails(engine: Engine) -> None:
    engine.transfer(shards=("a", "b"), cursors={"b": (1,)}, verify="copied")
    assert engine.run().status == "SUCCEEDED"
    called = engine.service.called()
    assert (called.count("VerifyShard"), called.count("ListSegment")) == (3, 1)
    assert called.index("FinishTree") < called.index("VerifyShard") < called.index("SummariseTransfer")


def test_both_trees_are_listed_again_inside_the_runs_ledger(engine: Engine) -> None:
    engine.transfer(shards=("a",), verify="all")
    assert engine.run().status == "SUCCEEDED"
    prefixes = [event["run"]["prefix"] for event in engine.service.calls("ListSegment")]
    assert prefixes == ["runs/run-1/", "runs/run-1/verification/"]
    assert engine.service.called().count("CopyShard") == 1
    (summarised,) = engine.service.calls("SummariseTransfer")
    assert summarised["state"]["run"]["prefix"] == "runs/run-1/verification/"


def test_only_comparing_copies_nothing_and_finishes_nothing(engine: Engine) -> None:
    engine.transfer(shards=("a", "b"), mode="verify")
    assert engine.run().status == "SUCCEEDED"
    assert {"CopyShard", "FinishTree"}.isdisjoint(engine.service.called())
    assert engine.service.called().count("VerifyShard") == 2


def test_a_shard_that_can_not_be_verified_leaves_the_others_and_the_summary(engine: Engine) -> None:
    engine.transfer(shards=("a", "b"), verify="copied")
    engine.service.functions["VerifyShard"] = always(LedgerBroken("no shard"))
    engine.run()
    assert engine.service.called().count("VerifyShard") == 2
    assert engine.service.called()[-1] == "SummariseTransfer"


def test_a_second_listing_that_fails_ends_with_its_error_and_never_green(engine: Engine) -> None:
    engine.transfer(shards=("a",), verify="all")
    engine.service.functions["BeginVerification"] = always(LedgerBroken("no plan"))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "LedgerBroken")
