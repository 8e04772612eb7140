"""CRC64NVME: a known value, increments, and the combination over parts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fanout.model.checksum import combine, crc64nvme, to_base64

CHECK_VALUE = 0xAE8B14860A799888  # of b"123456789", from the CRC catalogue


def test_known_value() -> None:
    assert crc64nvme(b"123456789") == CHECK_VALUE
    assert to_base64(CHECK_VALUE) == "rosUhgp5mIg="


def test_nothing_is_zero() -> None:
    assert crc64nvme(b"") == 0
    assert to_base64(0) == "AAAAAAAAAAA="


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_increments_and_combination_give_the_whole(head: bytes, tail: bytes) -> None:
    whole = crc64nvme(head + tail)
    assert crc64nvme(tail, crc64nvme(head)) == whole
    assert combine(crc64nvme(head), crc64nvme(tail), len(tail)) == whole


@given(st.lists(st.binary(max_size=50), max_size=8))
def test_parts_fold_from_the_left(parts: list[bytes]) -> None:
    folded = 0
    for part in parts:
        folded = combine(folded, crc64nvme(part), len(part))
    assert folded == crc64nvme(b"".join(parts))


def test_combination_over_large_parts() -> None:
    head, tail = b"head", bytes(3 * 1024 * 1024 + 1)
    assert combine(crc64nvme(head), crc64nvme(tail), len(tail)) == crc64nvme(head + tail)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 2**40))
def test_skipping_adds_up_for_lengths_that_no_memory_holds(crc: int, first: int, second: int) -> None:
    assert combine(combine(crc, 0, first), 0, second) == combine(crc, 0, first + second)
