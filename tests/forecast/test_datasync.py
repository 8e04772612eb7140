"""DataSync beside a run: the cheaper of its modes, by AWS's price list, worked out by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState
from fanout.efs.load import Work
from fanout.facts import aws
from fanout.facts.prices import prices_with
from fanout.facts.units import GIB
from fanout.forecast.datasync import DataSync, TaskMode, basic_verification, datasync_of
from fanout.model.document import Json
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout.request.request import Request

PRICE = prices_with({})
# 1,000 objects of 100 MB: 100 GB.
WORK = Work(listed=1_000, entries=1_000, bytes=10**11, shards=10, longest_seconds=60)
STATES = {
    "data": FileSystemState(ThroughputMode.ELASTIC, float(GIB)),
    "archive": FileSystemState(ThroughputMode.ELASTIC, float(GIB)),
}
FROM_S3 = {"source": "s3://bucket/in/", "destination": "efs://data/copy"}
TO_S3 = {"source": "efs://data/copy", "destination": "s3://bucket/out/"}
IN_S3 = {"source": "s3://bucket/in/", "destination": "s3://bucket/out/"}
BETWEEN = {"source": "efs://data/copy", "destination": "efs://archive/copy"}


def request_of(ends: Json, **options: str) -> Request:
    return parse_request({**ends, **options}, ("data", "archive"), 10)


def found(ends: Json, work: Work = WORK, **options: str) -> DataSync:
    return datasync_of(request_of(ends, **options), work, STATES, PRICE)


def test_basic_has_the_lower_price_of_a_gigabyte_and_no_fee_of_a_task() -> None:
    assert found(FROM_S3).mode is TaskMode.BASIC
    assert found(FROM_S3).fee == pytest.approx(100 * 0.0125)


def test_more_items_than_basic_takes_are_for_enhanced() -> None:
    most = replace(WORK, listed=aws.DATASYNC_BASIC_ITEMS)
    assert found(FROM_S3, most).mode is TaskMode.BASIC
    more = found(FROM_S3, replace(most, listed=aws.DATASYNC_BASIC_ITEMS + 1))
    assert more.mode is TaskMode.ENHANCED
    assert more.fee == pytest.approx(100 * 0.015 + 0.55)


def test_a_price_of_its_own_can_make_enhanced_the_cheaper_one() -> None:
    price = prices_with({"datasync_gb": 0.005})
    assert datasync_of(request_of(FROM_S3), WORK, STATES, price).mode is TaskMode.ENHANCED


@pytest.mark.parametrize("ends", [FROM_S3, TO_S3, IN_S3, BETWEEN])
def test_a_verification_is_never_free_and_that_of_the_whole_trees_is_basic_s(ends: Json) -> None:
    none, copied, whole = found(ends), found(ends, verify="copied"), found(ends, verify="all")
    assert none.total < copied.total < whole.total
    assert whole.mode is TaskMode.BASIC
    assert none.fee == whole.fee
    more = basic_verification(request_of(ends), WORK, STATES, PRICE)
    assert whole.total - none.total == pytest.approx(more)


def test_reading_both_ends_again_is_a_get_for_each_block_and_what_efs_meters() -> None:
    blocks = 1_000 + 10**11 / (8 * 2**20)
    metered = 100 * 0.03 + 1_000 * 2 * 4096 / 1e9 * 0.03
    assert basic_verification(request_of(FROM_S3), WORK, STATES, PRICE) == pytest.approx(blocks * 0.0000004 + metered)
    assert basic_verification(request_of(BETWEEN), WORK, STATES, PRICE) == pytest.approx(2 * metered)


def test_what_is_copied_is_read_again_at_the_destination_alone() -> None:
    assert found(TO_S3, verify="copied").efs == found(TO_S3).efs
    assert found(FROM_S3, verify="copied").s3 == found(FROM_S3).s3
    assert found(FROM_S3, verify="copied").efs > found(FROM_S3).efs


def test_a_comparison_moves_nothing() -> None:
    compared = found(FROM_S3, mode="verify")
    assert (compared.mode, compared.fee) == (TaskMode.BASIC, 0.0)
    assert compared.efs == pytest.approx(100 * 0.03, rel=0.01)


def test_between_two_file_systems_it_needs_no_bucket() -> None:
    assert found(BETWEEN).s3 == 0.0
    assert found(BETWEEN).efs > 100 * 0.09
