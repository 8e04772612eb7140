"""How far a run is: what is asked, how often, and what is made of the answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.entry import Entry, Kind
from fanout.model.outcome import Outcome, Result
from fanout.model.shard import Rates
from fanout_cli.runs import progress as progress_module
from fanout_cli.runs.map_runs import ASK_SECONDS, ASK_SECONDS_MAX, MapCounts, MapRuns
from fanout_cli.runs.progress import LedgerWatch, Progress, eta_seconds
from fanout_cli.runs.watch import details, duration
from tests.support.memory_store import MemoryStore

RATES = Rates(1.0, 10.0)
ARN = "arn:aws:states:eu-west-1:123456789012:mapRun:mine-transfer/{label}:uuid"


class StepFunctions:
    """Answers as the service does, and notes when it was asked."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked: list[float] = []
        self.maps = ["ListTree", "CopyShards"]
        self.throttled = False

    def list_map_runs(self, **_: Any) -> Any:
        when = [datetime(2026, 1, 1 + number, tzinfo=UTC) for number in range(len(self.maps))]
        arns = [ARN.format(label=label) for label in self.maps]
        return {"mapRuns": [{"mapRunArn": arn, "startDate": one} for arn, one in zip(arns, when, strict=True)]}

    def describe_map_run(self, **_: Any) -> Any:
        self.asked.append(self.now)
        if self.throttled:
            raise ClientError({"Error": {"Code": "ThrottlingException"}}, "DescribeMapRun")
        counts = {"total": 9, "succeeded": 4, "failed": 1, "timedOut": 1, "aborted": 0, "running": 2, "pending": 1}
        return {"itemCounts": counts}


def test_the_newest_map_is_described_at_most_every_5_seconds() -> None:
    service = StepFunctions()
    maps = MapRuns(service, "arn", lambda: service.now)
    for tenth in range(600):
        service.now = tenth / 10
        assert maps.look() == MapCounts("CopyShards", total=9, done=6, failed=2, running=2)
    assert len(service.asked) == 12
    assert min(b - a for a, b in zip(service.asked, service.asked[1:], strict=False)) >= ASK_SECONDS


def test_when_the_service_throttles_it_is_asked_less_and_less() -> None:
    service = StepFunctions()
    service.throttled = True
    maps = MapRuns(service, "arn", lambda: service.now)
    for second in range(400):
        service.now = float(second)
        assert maps.look() is None
    pauses = [b - a for a, b in zip(service.asked, service.asked[1:], strict=False)]
    assert pauses[:4] == [10.0, 20.0, 40.0, 60.0]
    assert set(pauses[4:]) == {ASK_SECONDS_MAX}
    service.throttled, service.now = False, 1_000.0
    assert maps.look() is not None
    service.now += ASK_SECONDS
    maps.look()
    assert service.asked[-1] == service.now


def test_before_the_first_map_there_is_nothing_to_describe() -> None:
    service = StepFunctions()
    service.maps = []
    assert MapRuns(service, "arn", lambda: service.now).look() is None
    assert not service.asked


@given(st.integers(0, 100), st.integers(0, 10_000), st.floats(0.1, 1e6), st.integers(0, 100))
def test_the_time_left_is_never_negative_and_ends_at_nothing(
    entries: int, size: int, elapsed: float, workers: int
) -> None:
    left = eta_seconds(Progress(entries, 100, size, 10_000), RATES, elapsed, workers)
    assert left is None or left >= 0
    assert eta_seconds(Progress(100, 100, 10_000, 10_000), RATES, elapsed, workers) == 0


def test_the_time_left_is_predicted_first_and_measured_then() -> None:
    assert eta_seconds(Progress(0, 100, 0, 1_000), RATES, 0.0, 4) == 50.0
    assert eta_seconds(Progress(50, 100, 500, 1_000), RATES, 30.0, 4) == 30.0
    assert eta_seconds(Progress(0, 100, 0, 1_000), RATES, 30.0, 0) is None


def ledger_with(shards: int) -> tuple[MemoryStore, Ledger]:
    store = MemoryStore()
    ledger = Ledger(store, "run-1")
    rows = [{"id": f"s{n}", "key": "k", "entries": 2, "bytes": 10, "seconds": 1.0} for n in range(shards)]
    ledger.write_json("shards.json", [{"shard": row} for row in rows])
    for number in range(2):
        outcome = Outcome.done(Entry("p", Kind.FILE, 5), Result.COPIED)
        counts = {Result.COPIED: Count(1, 5), Result.FAILED: Count(1, 5)}
        ledger.write_outcomes(f"s{number}", "n", {0: outcome}, counts)
    return store, ledger


def test_outcomes_are_read_once_each() -> None:
    store, _ = ledger_with(4)
    watch = LedgerWatch(store, "run-1")
    assert watch.look() == watch.look() == Progress(4, 8, 20, 40, 2, 0, 4)
    assert LedgerWatch(store, "run-2").look() is None


def test_of_very_many_shards_only_the_counts_of_the_map_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "SHARDS_READ", 3)
    store, _ = ledger_with(4)
    watch = LedgerWatch(store, "run-1")
    monkeypatch.setattr(store, "list", None)
    assert watch.look(MapCounts("CopyShards", 4, 3, 1, 1)) == Progress(6, 8, 30, 40, 1, 3, 4)
    assert watch.look(MapCounts("ListTree", 4, 3, 1, 1)) == Progress(0, 8, 0, 40, 1, 0, 4)


def test_what_stands_beside_the_bar() -> None:
    shown = details(Progress(1_000, 2_000, 0, 0, 3), 12, 3_700.0)
    assert shown == "1,000/2,000 entries, 12 workers, 3 failed, 62 min left"
    assert details(Progress(0, 1), 0, None) == "0/1 entries"
    said = {0.4: "0 s", 89: "89 s", 90: "2 min", 5_399: "90 min", 5_400: "1 h 30 min", 7_260: "2 h 01 min"}
    assert {seconds: duration(seconds) for seconds in said} == said
