"""The dollars and seconds of restoring, against AWS's own example and by hand."""

from __future__ import annotations

import pytest

from fanout.facts import archives
from fanout.facts.prices import prices_with
from fanout.model.books import Count
from fanout.request.parts.restore import Restore, Tier
from fanout.restoring.forecast import restore_dollars, restore_seconds

GB, HOUR = 10**9, 3600.0
# repost.aws/knowledge-center/s3-manage-data-retrieval: 15 million objects of 100 TB in GLACIER.
EXAMPLE = Count(15_000_000, 102_400 * GB)


def dollars(archive: str, count: Count, tier: Tier, days: int = 0) -> float:
    return restore_dollars({archive: count}, Restore(tier, days), prices_with({}))


def test_the_example_of_aws() -> None:
    assert dollars(archives.GLACIER, EXAMPLE, Tier.STANDARD) == pytest.approx(750 + 1_024)
    assert dollars(archives.GLACIER, EXAMPLE, Tier.EXPEDITED) == pytest.approx(150_000 + 3_072)
    assert dollars(archives.GLACIER, EXAMPLE, Tier.BULK) == 0.0


@pytest.mark.parametrize(
    ("archive", "tier", "expected"),
    [
        (archives.DEEP_ARCHIVE, Tier.STANDARD, 0.10 + 20.0),
        (archives.DEEP_ARCHIVE, Tier.BULK, 0.025 + 2.5),
        (archives.ARCHIVE_ACCESS, Tier.STANDARD, 0.0),
        (archives.ARCHIVE_ACCESS, Tier.EXPEDITED, 10.0 + 30.0),
        (archives.DEEP_ARCHIVE_ACCESS, Tier.BULK, 0.0),
    ],
)
def test_a_thousand_objects_of_a_terabyte(archive: str, tier: Tier, expected: float) -> None:
    assert dollars(archive, Count(1_000, 1_000 * GB), tier) == pytest.approx(expected)


def test_the_restored_copies_are_stored_for_their_days_but_those_of_tiering_stay() -> None:
    count = Count(1, 1_000 * GB)
    assert dollars(archives.GLACIER, count, Tier.BULK, 30) == pytest.approx(23.0)
    assert dollars(archives.ARCHIVE_ACCESS, count, Tier.BULK, 30) == 0.0


def test_a_price_of_the_request_counts() -> None:
    price = prices_with({"restore_glacier_standard_gb": 1.0, "restore_glacier_standard": 0.0})
    assert restore_dollars({archives.GLACIER: Count(1, 5 * GB)}, Restore(days=0), price) == 5.0


def test_the_slowest_archive_and_the_asking_decide_how_long_it_takes() -> None:
    some = {archives.GLACIER: Count(1, 1), archives.DEEP_ARCHIVE: Count(1, 1)}
    assert restore_seconds(some, Restore()) == pytest.approx(12 * HOUR, abs=1)
    assert restore_seconds(some, Restore(Tier.BULK)) == pytest.approx(48 * HOUR, abs=1)
    assert restore_seconds({archives.GLACIER: EXAMPLE}, Restore()) == pytest.approx(5 * HOUR + 15_000)
    assert restore_seconds({}, Restore()) == 0.0
