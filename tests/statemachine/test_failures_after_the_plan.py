"""A state that fails after the plan leads over FinishTree, which cleans up, to the summary, and never to copying."""

from __future__ import annotations

import pytest

from fanout.model.errors import FanoutError, LedgerBroken, ListingIncomplete

from .engine import Engine
from .failing import always
from .lambda_service import Event
from .map_tolerance import EXCEEDED

SKIPPED_AFTER = {
    "GatherSegments": {"PartitionShards", "CopyShard"},
    "PartitionShards": {"CopyShard"},
    "FinishTree": set[str](),
}


def assert_summarised_as_failed(engine: Engine, error: str, skipped: set[str]) -> None:
    result = engine.run()
    (summarised,) = engine.service.calls("SummariseTransfer")
    assert summarised["state"]["error"]["Error"] == error
    assert summarised["state"]["run"]["id"] == "run-1"
    assert (result.status, result.error) == ("FAILED", error.removeprefix("States."))
    assert result.cause == summarised["state"]["error"]["Cause"]
    assert skipped.isdisjoint(engine.service.called())
    assert engine.entered()[-3:] == ["SummariseTransfer", "TransferSucceeded?", "FailedAfterPlan"]
    assert "FinishTree" in engine.entered()


@pytest.mark.parametrize("task", SKIPPED_AFTER)
@pytest.mark.parametrize("error", [ListingIncomplete("segment 3 has no end"), LedgerBroken("no shards.json")], ids=str)
def test_the_summary_gets_the_error_and_the_execution_ends_with_it(
    engine: Engine, task: str, error: FanoutError
) -> None:
    engine.transfer()
    engine.service.functions[task] = always(error)
    assert_summarised_as_failed(engine, type(error).__name__, SKIPPED_AFTER[task])


@pytest.mark.parametrize("failing", ["0", "1", "2"], ids=["first-round", "second-round", "last-segment"])
def test_a_segment_that_fails_for_good_is_never_an_empty_one(engine: Engine, failing: str) -> None:
    """One failed segment fails the Map, on AWS under the Map's own error name."""

    def list_segment(event: Event) -> Event:
        if event["segment"] == failing:
            raise ListingIncomplete("ListObjectsV2 on s3://bucket/prefix/ broke off")
        return {"listed": 1}

    engine.transfer(rounds=(("0",), ("1", "2")))
    engine.service.functions["ListSegment"] = list_segment
    error = "ListingIncomplete" if failing == "0" else EXCEEDED  # the first round has one segment, and no Map
    assert_summarised_as_failed(engine, error, {"PartitionShards", "CopyShard"})


@pytest.mark.parametrize(
    ("task", "field", "skipped"),
    [
        ("PlanTransfer", "list", {"ListSegment", "GatherSegments", "PartitionShards", "CopyShard"}),
        ("PartitionShards", "shards", {"CopyShard"}),
    ],
)
def test_a_list_that_can_not_be_read_is_never_an_empty_one(
    engine: Engine, task: str, field: str, skipped: set[str]
) -> None:
    """The error's name is the engine's own (on AWS ``States.ItemReaderFailed``), so it is not asserted."""
    engine.transfer(rounds=(("0", "1"),))
    function = engine.service.functions[task]

    def name_a_missing_file(event: Event) -> Event:
        payload: Event = function(event)
        named = payload["list"] if field == "list" else payload
        named["key" if field == "list" else "copies"] = "runs/run-1/missing.json"
        return payload

    engine.service.functions[task] = name_a_missing_file
    assert engine.run().status == "FAILED"
    assert "error" in engine.service.calls("SummariseTransfer")[0]["state"]
    assert skipped.isdisjoint(engine.service.called())
