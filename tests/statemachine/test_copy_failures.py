"""A shard that fails for good is a row in the ledger, and the others go on."""

from __future__ import annotations

import pytest

from fanout.model.errors import LedgerBroken

from .engine import Engine, Result
from .failing import always
from .lambda_service import Event, ServiceError

SHARDS = ("a", "b", "c", "d")
BROKEN = LedgerBroken("shards/b.jsonl is missing")


def run_with_failing_tail(engine: Engine, error: Exception = BROKEN) -> Result:
    """Shard b hands back its tail at 40 and fails there for good."""
    fake = engine.transfer(shards=SHARDS, cursors={"b": (40, 90), "c": (10,)})

    def copy_shard(event: Event) -> Event:
        if event["shard"] == "b" and event["cursor"] >= 40:
            raise error
        return fake.copy_shard(event)

    engine.service.functions["CopyShard"] = copy_shard
    return engine.run()


def test_the_failure_is_recorded_with_its_shard_cursor_and_error(engine: Engine) -> None:
    run_with_failing_tail(engine)
    (recorded,) = engine.service.calls("RecordShardFailure")
    assert sorted(recorded) == ["cursor", "error", "run", "shard", "step"]
    assert (recorded["shard"], recorded["cursor"], recorded["run"]["id"]) == ("b", 40, "run-1")
    assert recorded["error"]["Error"] == "LedgerBroken"
    assert str(BROKEN) in recorded["error"]["Cause"]


def test_the_other_shards_are_copied_to_their_end(engine: Engine) -> None:
    run_with_failing_tail(engine)
    copied = [(event["shard"], event["cursor"]) for event in engine.service.calls("CopyShard")]
    assert sorted(copied) == [("a", 0), ("b", 0), ("b", 40), ("c", 0), ("c", 10), ("d", 0)]


def test_the_run_is_finished_and_summarised_and_ends_failed(engine: Engine) -> None:
    result = run_with_failing_tail(engine)
    assert (result.status, result.error) == ("FAILED", "FailedWithItems")
    assert result.cause == "1 shards failed, 0 entries are rejected"
    assert engine.entered()[-10:] == [
        *(
            "CopyInPace",
            "CopyBroke?",
            "FinishTree",
            "TreeFinished?",
            "AnyExtras?",
            "WhatToVerify?",
            "ToPublish?",
            "SummariseTransfer",
        ),
        *("TransferSucceeded?", "FailedWithItems"),
    ]
    assert "error" not in engine.service.calls("SummariseTransfer")[0]["state"]


def test_an_error_of_the_service_that_does_not_pass_is_recorded_too(engine: Engine) -> None:
    """One of concurrency is waited for, 500 times (test_retries.py)."""
    run_with_failing_tail(engine, ServiceError(500, "ServiceException"))
    (recorded,) = engine.service.calls("RecordShardFailure")
    assert recorded["error"]["Error"] == "Lambda.ServiceException"


@pytest.mark.parametrize("failing", [("a",), SHARDS], ids=["one", "all"])
def test_shards_whose_failure_is_not_recorded_stop_neither_the_others_nor_the_finish(
    engine: Engine, failing: tuple[str, ...]
) -> None:
    """The tolerance of 100 per cent: what has no outcome is for SummariseTransfer to find in the books."""
    fake = engine.transfer(shards=SHARDS)
    engine.service.functions["CopyShard"] = lambda event: (
        always(BROKEN)(event) if event["shard"] in failing else fake.copy_shard(event)
    )
    engine.service.functions["RecordShardFailure"] = always(BROKEN)
    result = engine.run()
    assert (result.error, result.cause) == ("LedgerBroken", f"no outcome: {list(failing)}")
    assert {event["shard"] for event in engine.service.calls("CopyShard")} == set(SHARDS)
    assert len(engine.service.calls("FinishTree")) == 1
