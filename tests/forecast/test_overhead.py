"""Costs outside the copy: each figure by hand."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.efs.capacity import Load
from fanout.efs.load import Work
from fanout.efs.phase_cost import Overhead, PhaseCost
from fanout.facts import tuning
from fanout.facts.units import GIB, MIB
from fanout.forecast import overhead
from fanout.forecast.deleting import Deleting, deletion, deletion_loads
from fanout.forecast.document import by_service
from fanout.forecast.forecast import Forecast
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state


def test_a_day_of_pacing_by_hand() -> None:
    """103 tasks, each with 60 looks in its first minute and one in three seconds later; 1,440 decisions."""
    found = overhead.pacing(86_400.0, 1)
    assert found.metrics == 4 * 1_440
    assert found.calls == 104
    assert found.gets == pytest.approx(103 * 60 + (86_400 - 103 * 60) / 3 + 2 * 1_440)
    assert found.gb_seconds * 0.0000133334 == pytest.approx(0.295, abs=0.001)
    assert overhead.pacing(10.0, 1).gets == 10 and overhead.pacing(10.0, 1).metrics == 0


def test_a_rate_makes_functions_look_twice_as_often_and_at_each_other() -> None:
    assert overhead.looking(3_600, is_limited=False) == Overhead(gets=720)
    assert overhead.looking(3_600, is_limited=True) == Overhead(gets=1_440, puts=1_440 + 60)


def test_deleting_by_hand() -> None:
    asked = parse_request({"source": "efs:///a", "destination": "efs:///b", "mode": "sync"}, ("data",), 100)
    found = deletion(asked, 10, Deleting(seconds=20, shards=3, function_seconds=50, looks=9))
    assert found.overhead == Overhead(36 + 3 * 5, 8 + 3 * 4, 0.0, 50 * 1.769, 2 + 3, 7 + 3 * 4)
    assert found.requests.gets == 9
    assert deletion(asked, 0, Deleting()) == PhaseCost()
    assert deletion_loads(asked, 10) == {"data": Load(20, 2 * 40_960, 10, 40_960)}
    assert deletion_loads(asked, 0) == {}


def predicted(extras: int = 0, size: int = GIB, **fields: Any) -> Forecast:
    document = {"source": "s3://my-data/in/", "destination": "efs:///copy", "mode": "sync", **fields}
    states = {"data": idle_state(ThroughputMode.ELASTIC)}
    return estimate(parse_request(document, ("data",), 100), EstimateFacts(1000, size, extras=extras, states=states))


def test_what_a_sync_deletes_costs_looks_metered_operations_and_functions() -> None:
    none, million = predicted().dollars, predicted(1_000_000).dollars
    lists = (1_000_000 / tuning.SHARD_ENTRIES + 1) * 0.000005
    assert million.s3 - none.s3 == pytest.approx(0.40 + lists)  # a HEAD of each
    listed = (256 + 0.4 * 4096) / 1_000 * 0.03
    assert million.efs - none.efs == pytest.approx(4.096 * (0.03 + 0.06) + listed)  # 4 KiB for look and removal
    assert million.compute > none.compute and million.states > none.states and million.ledger > none.ledger
    assert million.metrics == none.metrics


def test_metrics_are_asked_for_once_by_the_plan_and_once_a_minute_by_the_pacing() -> None:
    found = predicted(size=4096 * GIB)
    asked = 4 * (1 + found.seconds["copy"] // 60)
    assert found.dollars.metrics == pytest.approx(asked * 0.00001, abs=0.00004)
    assert predicted(size=4096 * GIB, prices={"metric": 1}).dollars.metrics == pytest.approx(asked, abs=4)


def test_entries_are_reported_in_a_file_a_shard_and_one_for_many_that_need_no_copy() -> None:
    work = Work(listed=150_001, entries=50_000, bytes=0, shards=7, longest_seconds=0.0)
    asked = {"source": "efs:///a", "destination": "efs:///b", "report_entries": "all"}
    for report, puts in (("all", 7 + 3), ("failed", 0), ("none", 0)):
        request = parse_request({**asked, "report_entries": report}, ("data",), 100)
        assert overhead.reporting(request, work) == Overhead(puts=puts)


def test_a_certificate_costs_two_requests_to_kms_and_a_read_of_every_object() -> None:
    none = predicted(size=1000 * 8 * MIB, mode="copy", verify="all")
    asked = predicted(size=1000 * 8 * MIB, mode="copy", verify="all", certificate=True)
    assert none.dollars.signing == 0
    assert asked.dollars.signing == pytest.approx(2 * 0.15 / 10_000)
    assert asked.dollars.s3 - none.dollars.s3 == pytest.approx((1000 + 1000) * 0.0004 / 1000)  # an object, a block
    assert asked.dollars.ledger > none.dollars.ledger
    assert "kms" not in by_service(none.dollars)
    assert by_service(asked.dollars)["kms"] == pytest.approx(0.00003)
