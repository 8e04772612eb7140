"""A signature has one form: strict DER, and the smaller s of the two that fit."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from hypothesis import given
from hypothesis import strategies as st

from fanout.certificate.document import ORDER, in_one_form

NUMBERS = st.integers(1, ORDER - 1) | st.integers(1, 300) | st.integers(ORDER - 300, ORDER - 1)


@given(NUMBERS, NUMBERS)
def test_both_signatures_of_a_document_come_to_one_form(r: int, s: int) -> None:
    found = in_one_form(encode_dss_signature(r, s))
    assert found == in_one_form(encode_dss_signature(r, ORDER - s)) == in_one_form(found)
    assert decode_dss_signature(found) == (r, min(s, ORDER - s))
    assert found == encode_dss_signature(*decode_dss_signature(found))


@given(st.binary(max_size=80))
def test_anything_else_is_no_signature(data: bytes) -> None:
    try:
        expected: tuple[int, int] | None = decode_dss_signature(data)
    except ValueError:
        expected = None
    if expected is None or not all(0 < one < ORDER for one in expected):
        with pytest.raises(ValueError, match=r"DER|number"):
            in_one_form(data)


GOOD = encode_dss_signature(2**255, 5)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        GOOD + b"\0",
        GOOD[:-1],
        bytes([0x30, 0x81, GOOD[1]]) + GOOD[2:],
        bytes([0x30, 0x80]) + GOOD[2:] + b"\0\0",
        encode_dss_signature(0, 5),
        encode_dss_signature(5, 0),
        b"\x30\x06\x02\x01\xfb\x02\x01\x05",
        encode_dss_signature(ORDER, 5),
        b"\x30\x07\x02\x02\x00\x05\x02\x01\x05",
        b"\x30\x09\x02\x01\x05\x02\x01\x05\x02\x01\x05",
    ],
)
def test_other_forms_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"DER|number"):
        in_one_form(data)
