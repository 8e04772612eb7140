"""What deleting takes: a row for each term, and what holds for any number of extras."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.forecast.deleting import deleting_of
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout.request.request import Request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state

S3, OTHER_S3, DATA = "s3://my-data/in/", "s3://my-results/out/", "efs:///copy"
NO_LIMIT = 1e12


def request(source: str, destination: str, concurrency: int = 100, **fields: Any) -> Request:
    return parse_request({"source": source, "destination": destination, **fields}, ("data",), concurrency)


@pytest.mark.parametrize(
    ("source", "destination", "concurrency", "extras", "write_iops", "seconds"),
    [
        (S3, DATA, 100, 0, NO_LIMIT, 0),
        (S3, DATA, 100, 1, NO_LIMIT, 0.0237),  # one look, one stat, one unlink, one after the other
        (S3, DATA, 100, 6_400, NO_LIMIT, 100 * 0.0237),  # 64 at once
        ("efs:///a", DATA, 100, 6_400, NO_LIMIT, 100 * 0.0047),  # a look on EFS is no request
        ("efs:///a", DATA, 1, 60_000, NO_LIMIT, 60_000 / 64 * 0.0047),  # three shards in turn
        ("efs:///a", DATA, 100, 60_000, NO_LIMIT, 20_000 / 64 * 0.0047),  # at once
        ("efs:///a", DATA, 1_000, 10**7, 7_000, 10**7 / 7_000),  # the operations of the file system
        (S3, DATA, 1_000, 10**7, NO_LIMIT, 10**7 / 5_500),  # looks at one prefix
        (DATA, S3, 100, 20_000, NO_LIMIT, 20_000 / 3_500),  # S3 counts each key
        (DATA, S3, 100, 1_000, NO_LIMIT, 1_000 * 0.001 + 0.5),  # one batch, by one thread
        (S3, OTHER_S3, 100, 20_000, NO_LIMIT, 1_000 * 0.02 + 0.5),  # twenty of them at once
    ],
)
def test_what_deleting_takes(
    source: str, destination: str, concurrency: int, extras: int, write_iops: float, seconds: float
) -> None:
    found = deleting_of(request(source, destination, concurrency), extras, write_iops).seconds
    assert found == pytest.approx(seconds, rel=0.001)


ends = st.sampled_from([(S3, DATA), (DATA, S3), (S3, OTHER_S3), ("efs:///a", DATA)])


@given(ends, st.integers(0, 10**8), st.integers(0, 10**7), st.integers(1, 1000))
def test_more_extras_never_take_less_and_more_functions_never_more(
    both: tuple[str, str], extras: int, more: int, concurrency: int
) -> None:
    few = deleting_of(request(*both, 1), extras, 7_000).seconds
    assert deleting_of(request(*both, concurrency), extras, 7_000).seconds <= few
    assert deleting_of(request(*both, 1), extras + more, 7_000).seconds >= few * 0.5


def test_only_a_sync_that_finds_extras_has_a_phase_that_deletes() -> None:
    known = EstimateFacts(10, 1000, extras=1_000_000, states={"data": idle_state(ThroughputMode.BURSTING)})
    found = estimate(request(S3, DATA, mode="sync"), known).seconds
    assert found["delete"] == pytest.approx(11 + 1_000_000 / 5_500)
    assert estimate(request(S3, DATA, mode="plan"), known).seconds["delete"] == found["delete"]
    assert "delete" not in estimate(request(S3, DATA), known).seconds
    assert "delete" not in estimate(request(S3, DATA, mode="sync"), EstimateFacts(10, 1000)).seconds
