"""The metrics of a run are the summary's own numbers."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.summary.metrics import run_metrics


def summary(**fields: Any) -> dict[str, Any]:
    totals = {"listed": {"entries": 5, "bytes": 50}, "copied": {"entries": 3, "bytes": 30}}
    totals |= {"failed": {"entries": 2, "bytes": 20}}
    task = {"begun": 10, "shards_begun": 4, "handed_back": 3}
    found = {"status": "SUCCEEDED", "totals": totals, "tasks": [task], "failures": 2, "shards": {"count": 4}}
    return {**found, "seconds": {"list": 1.5, "copy": 4.0}, **fields}


def test_the_numbers_are_those_of_the_summary() -> None:
    assert run_metrics(summary()) == {
        "RunsSucceeded": 1,
        "RunsFailed": 0,
        "EntriesListed": 5,
        "EntriesCopied": 3,
        "EntriesFailed": 2,
        "BytesListed": 50,
        "BytesCopied": 30,
        "Failures": 2,
        "Shards": 4,
        "Retries": 3,
        "ListSeconds": 1.5,
        "CopySeconds": 4.0,
        "RunSeconds": 5.5,
    }


def test_the_credits_are_the_fewest_of_those_that_play_a_part() -> None:
    systems: list[dict[str, Any]] = [
        {"credits": None},
        {"credits": {"begin_bytes": 7}},
        {"credits": {"begin_bytes": 5}},
    ]
    assert run_metrics(summary(forecast={"file_systems": systems}))["BytesOfCredits"] == 5
    nothing: list[dict[str, Any] | None] = [None, {"file_systems": systems[:1]}, {"file_systems": []}]
    for none in nothing:
        assert "BytesOfCredits" not in run_metrics(summary(forecast=none))


@pytest.mark.parametrize("status", ["FAILED_WITH_ITEMS", "FAILED"])
def test_a_run_that_did_not_succeed_is_a_failed_one(status: str) -> None:
    found = run_metrics(summary(status=status))
    assert (found["RunsSucceeded"], found["RunsFailed"]) == (0, 1)


def test_going_on_after_a_hand_back_is_no_retry() -> None:
    found = run_metrics(summary(tasks=[{"begun": 4, "shards_begun": 1, "handed_back": 3}]))
    assert found["Retries"] == 0
