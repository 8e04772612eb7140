"""The dollars of transfer between regions: by hand, predicted and counted."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fanout.efs.phase_cost import WorkDone, together
from fanout.facts.prices import prices_with
from fanout.forecast.between_regions import TRANSFER
from fanout.forecast.document import forecast_document
from fanout.forecast.phases import ONCE
from fanout.model.books import Count
from fanout.request.parse import parse_request
from fanout.request.request import Request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate

A, B, MOUNT = "s3://a-bucket/in/", "s3://b-bucket/out/", "efs:///tree"
FAR = {"a-bucket": "eu-west-1", "b-bucket": "us-west-2"}
SAME = dict.fromkeys(FAR, "eu-west-1")
ONE = {"a-bucket": "eu-west-1"}
GB = 0.02
SIZE, FILES = 50 * 10**9, 1000

# The request, the regions of the buckets that are not in the stack's, and how often each byte is charged.
CELLS: list[tuple[str, str, dict[str, Any], dict[str, str], int]] = [
    (A, B, {}, {}, 0),
    (A, B, {}, ONE, 1),
    (A, B, {}, FAR, 1),
    (A, B, {}, SAME, 0),  # both are far, but S3 copies inside their region
    (B, A, {}, ONE, 1),
    (A, MOUNT, {}, ONE, 1),
    (MOUNT, A, {}, ONE, 1),
    (MOUNT, B, {}, ONE, 0),  # it is another bucket that is far
    (A, MOUNT, {"verify": "all"}, ONE, 1),  # a HEAD tells the object's checksum
    (A, MOUNT, {"verify": "all", "certificate": True}, ONE, 2),
    (A, B, {"verify": "all", "certificate": True}, FAR, 3),
    (A, B, {"mode": "verify"}, FAR, 2),
    (A, B, {"mode": "verify"}, ONE, 1),
    (A, B, {"mode": "move"}, FAR, 1),
    (A, B, {"mode": "sync"}, FAR, 1),
]


def request_of(source: str, destination: str, **fields: Any) -> Request:
    return parse_request({"source": source, "destination": destination, **fields}, ("data",), 100)


@pytest.mark.parametrize(("source", "destination", "fields", "regions", "times"), CELLS)
def test_each_byte_that_leaves_its_region_is_predicted_and_counted(
    source: str, destination: str, fields: dict[str, Any], regions: dict[str, str], times: int
) -> None:
    asked = request_of(source, destination, **fields)
    known = EstimateFacts(FILES, SIZE, regions=regions)
    found, near = estimate(asked, known), estimate(asked, replace(known, regions={}))
    assert found.dollars.services.get(TRANSFER, 0.0) == pytest.approx(times * SIZE / 10**9 * GB)
    assert found.dollars.total - near.dollars.total == pytest.approx(times * SIZE / 10**9 * GB)
    after = asked.verifies_after != "none"
    done = WorkDone(
        listed=FILES,
        moved=Count(FILES, SIZE),
        verified=Count(FILES, SIZE) if after else Count(),
        deleted=0,
        tasks=2,
        task_seconds=1.0,
        copying_seconds=1.0,
        tasks_after=int(after),
        regions=regions,
    )
    counted = together(phase.spent(asked, done, prices_with({})) for phase in ONCE)
    assert counted.services.get(TRANSFER, 0.0) == pytest.approx(times * SIZE / 10**9 * GB)


def test_what_is_compared_by_checksum_is_read_at_each_far_end() -> None:
    asked = request_of(A, B, mode="sync", compare="checksum")
    known = EstimateFacts(0, 0, unchanged=FILES, unchanged_bytes=SIZE, regions=FAR)
    assert estimate(asked, known).dollars.services[TRANSFER] == pytest.approx(2 * SIZE / 10**9 * GB)


def test_the_price_can_be_the_user_s_and_datasync_pays_it_too() -> None:
    asked = request_of(A, B, prices={"transfer_gb": 0.147})
    found = estimate(asked, EstimateFacts(FILES, SIZE, regions=FAR))
    assert found.dollars.services[TRANSFER] == pytest.approx(SIZE / 10**9 * 0.147)
    assert found.datasync.transfer == pytest.approx(SIZE / 10**9 * 0.147)
    document = forecast_document(found, 0.0)
    assert document.dollars[TRANSFER] == document.datasync_dollars[TRANSFER] == pytest.approx(7.35)
    near = forecast_document(estimate(asked, EstimateFacts(FILES, SIZE)), 0.0)
    assert TRANSFER not in near.dollars and TRANSFER not in near.datasync_dollars


def test_a_plan_is_predicted_as_the_sync() -> None:
    asked = request_of(A, B, mode="plan")
    assert estimate(asked, EstimateFacts(FILES, SIZE, regions=FAR)).dollars.services[TRANSFER] == pytest.approx(1.0)
