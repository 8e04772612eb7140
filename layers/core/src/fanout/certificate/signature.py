"""The one form of a signature: ECDSA on P-256 as strict ASN.1 DER, with the smaller of the two numbers that fit as s.

Whoever has a signature (r, s) can write (r, n - s), which fits the same document. KMS gives either. A certificate holds
the one whose s is at most half of n, so that no byte of its file can be another one.
"""

from __future__ import annotations

# The order n of the curve P-256: FIPS 186-5, SP 800-186, 3.2.1.3.
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_SEQUENCE, _INTEGER = 0x30, 0x02


def in_one_form(signature: bytes) -> bytes:
    """The signature with the smaller s. Raises ``ValueError`` for bytes that are no such signature."""
    r, left = _integer(_content(_SEQUENCE, signature, whole=True)[0])
    s, left = _integer(left)
    if left or not (0 < r < ORDER and 0 < s < ORDER):
        raise ValueError("two numbers of another curve, or more than two")
    numbers = _element(_INTEGER, _bytes_of(r)) + _element(_INTEGER, _bytes_of(min(s, ORDER - s)))
    return _element(_SEQUENCE, numbers)


def _content(tag: int, data: bytes, *, whole: bool = False) -> tuple[bytes, bytes]:
    """The content of an element, and what follows it; lengths under 128 have one byte."""
    end = 2 + data[1] if len(data) > 1 else 0
    if end < 3 or data[0] != tag or data[1] > 127 or end > len(data) or (whole and end != len(data)):
        raise ValueError("no strict DER")
    return data[2:end], data[end:]


def _integer(data: bytes) -> tuple[int, bytes]:
    content, left = _content(_INTEGER, data)
    number = int.from_bytes(content, "big", signed=True)
    if number < 0 or content != _bytes_of(number):
        raise ValueError("a negative number, or one with more bytes than it needs")
    return number, left


def _bytes_of(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def _element(tag: int, content: bytes) -> bytes:
    return bytes([tag, len(content)]) + content
