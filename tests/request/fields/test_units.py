"""Sizes and counts as people write them."""

from __future__ import annotations

import pytest

from fanout.model.errors import InvalidRequest
from fanout.request.fields.units import size_of
from fanout.request.parse import parse_request

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("50 MiB", 50 * MIB),
        ("50MiB", 50 * MIB),
        ("1.5 GiB", 1536 * MIB),
        ("150 MB", 150_000_000),
        ("10M", 10_000_000),
        ("2k", 2_000),
        ("2 KB", 2_000),
        ("7 B", 7),
        ("7", 7),
    ],
)
def test_a_text_is_its_number(text: str, number: int) -> None:
    assert size_of("field", text) == number


@pytest.mark.parametrize("text", ["", "MiB", "-1", "1 mib", "1 MiBs", "1..5 GiB", "1e9"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"field: .* is not a size"):
        size_of("field", text)


def test_rates_and_counts_of_a_request_take_units() -> None:
    document = {
        "source": "s3://a-bucket/in/",
        "destination": "efs:///out",
        "limits": {"bytes_per_second": "50 MiB", "files_per_second": "2k", "split_bytes": "1 GiB"},
        "delete_guard": {"max_count": "10M"},
    }
    request = parse_request(document, ("data",), 10)
    limits = request.limits
    assert (limits.bytes_per_second, limits.files_per_second, limits.split_bytes) == (50 * MIB, 2_000, 1024 * MIB)
    assert request.delete_guard.max_count == 10_000_000
    with pytest.raises(InvalidRequest, match=r"limits\.bytes_per_second: 'fast' is not a size"):
        parse_request({**document, "limits": {"bytes_per_second": "fast"}}, ("data",), 10)
