"""The metrics of a run are the summary's own numbers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fanout.books.summary_document import ShardsDone, Status, SummaryDocument, TasksDone, totals_of
from fanout.efs.capacity import Drain
from fanout.forecast.credits import Credits
from fanout.forecast.document import ForecastDocument, forecast_document
from fanout.model.books import Books, Count
from fanout.model.file_system import ThroughputMode
from fanout.model.outcome import Result
from fanout.request.parse import parse_request
from fanout.summary.metrics import run_metrics
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state
from tests.support.summaries import summary_of


def tasks(begun: int, shards_begun: int, handed_back: int) -> TasksDone:
    return TasksDone("copy", shards_begun, begun, begun - handed_back, handed_back, 0, 0, 1.0, 0)


def summary(**fields: Any) -> SummaryDocument:
    results = {Result.COPIED: Count(3, 30), Result.FAILED: Count(2, 20)}
    found = {"totals": totals_of(Books().plus(Count(5, 50), results)), "tasks": [tasks(10, 4, 3)], "failures": 2}
    return summary_of(**{**found, "shards": ShardsDone(4), "seconds": {"list": 1.5, "copy": 4.0}, **fields})


def credited(*begin: int | None) -> ForecastDocument:
    """A forecast of file systems with so many credits."""
    systems = {f"m{number}": idle_state(ThroughputMode.ELASTIC) for number in range(len(begin))}
    held = {
        f"m{number}": Credits(float(bytes_), 0.0, 20.0, 0.0, Drain(0.0, 0.0), Drain(0.0, 0.0))
        for number, bytes_ in enumerate(begin)
        if bytes_ is not None
    }
    found = estimate(
        parse_request({"source": "s3://a-bucket/x/", "destination": "efs:///y"}, ("data",), 10), EstimateFacts(1, 1)
    )
    return forecast_document(replace(found, states=systems, credits=held), 0.0)


def test_the_numbers_are_those_of_the_summary() -> None:
    assert run_metrics(summary()) == {
        "RunsSucceeded": 1,
        "RunsFailed": 0,
        "EntriesListed": 5,
        "EntriesCopied": 3,
        "EntriesFailed": 2,
        **dict.fromkeys(("EntriesUnchanged", "EntriesSkipped", "EntriesRejected", "EntriesDeleted"), 0),
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
    assert run_metrics(summary(forecast=credited(None, 7, 5)))["BytesOfCredits"] == 5
    for none in (None, credited(None), credited()):
        assert "BytesOfCredits" not in run_metrics(summary(forecast=none))


@pytest.mark.parametrize("status", [Status.FAILED_WITH_ITEMS, Status.FAILED])
def test_a_run_that_did_not_succeed_is_a_failed_one(status: Status) -> None:
    found = run_metrics(summary(status=status))
    assert (found["RunsSucceeded"], found["RunsFailed"]) == (0, 1)


def test_going_on_after_a_hand_back_is_no_retry() -> None:
    found = run_metrics(summary(tasks=[tasks(4, 1, 3)]))
    assert found["Retries"] == 0
