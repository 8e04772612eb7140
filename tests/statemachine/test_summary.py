"""The summary alone decides how a run ends, and only one word of it is green."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.model.errors import LedgerBroken, ListingIncomplete

from .engine import Engine
from .failing import always


def test_rejected_entries_end_failed_with_items(engine: Engine) -> None:
    engine.transfer(rejected=3)
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "FailedWithItems")
    assert result.cause == "0 shards failed, 3 entries are rejected"
    assert engine.entered()[-1] == "FailedWithItems"


def test_a_failed_summary_ends_with_the_error_and_cause_that_it_names(engine: Engine) -> None:
    engine.transfer()
    summary = {"status": "FAILED", "error": "LedgerBroken", "cause": "listed 10, accounted for 9"}
    engine.service.functions["SummariseTransfer"] = lambda event: summary
    result = engine.run()
    assert (result.status, result.error, result.cause) == ("FAILED", "LedgerBroken", "listed 10, accounted for 9")


@pytest.mark.parametrize(
    "summary",
    [{}, None, [], {"status": None}, {"status": True}, {"status": "succeeded"}, {"status": ""}, {"state": "SUCCEEDED"}],
    ids=repr,
)
def test_an_answer_that_is_no_summary_is_never_green(engine: Engine, summary: Any) -> None:
    engine.transfer()
    engine.service.functions["SummariseTransfer"] = lambda event: summary
    assert engine.run().status == "FAILED"


def test_a_summary_that_fails_is_failed(engine: Engine) -> None:
    engine.transfer()
    engine.service.functions["SummariseTransfer"] = always(LedgerBroken("outcomes/a.jsonl cannot be read"))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "Infrastructure")
    assert "outcomes/a.jsonl cannot be read" in result.cause
    assert engine.entered()[-2:] == ["SummariseTransfer", "FailedInfrastructure"]


def test_a_summary_that_fails_after_an_earlier_failure_is_failed(engine: Engine) -> None:
    engine.transfer()
    engine.service.functions["GatherSegments"] = always(ListingIncomplete("segment 3 has no end"))
    engine.service.functions["SummariseTransfer"] = always(LedgerBroken("plan.json is missing"))
    result = engine.run()
    assert (result.status, result.error) == ("FAILED", "Infrastructure")
    assert engine.entered()[-1] == "FailedInfrastructure"
