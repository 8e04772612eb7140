"""CRC64NVME, the full-object checksum that S3 keeps by default since December 2024: rendered, and joined over parts."""

from __future__ import annotations

import binascii
from collections.abc import Callable
from functools import cache

# The checksum of more bytes given that of the bytes before them.
Crc64Nvme = Callable[[bytes, int], int]
Matrix = tuple[int, ...]

NO_BYTES = 0
_POLYNOMIAL = 0x9A6C9329AC4BC9B5  # CRC-64/NVME with its bits reflected
_WIDTH = 64
_INVERTED = (1 << _WIDTH) - 1  # CRC-64/NVME begins and ends by inverting all bits


def to_base64(crc: int) -> str:
    """The checksum as S3 writes it: base64 of 8 big-endian bytes."""
    return binascii.b2a_base64(crc.to_bytes(8, "big"), newline=False).decode("ascii")


def from_base64(text: str) -> int:
    """The checksum of what ``to_base64`` writes."""
    return int.from_bytes(binascii.a2b_base64(text), "big")


def combine(crc_head: int, crc_tail: int, tail_bytes: int) -> int:
    """The checksum of two byte strings joined, from theirs and the length of the second."""
    crc, power = crc_head, 0
    while tail_bytes >> power:
        if tail_bytes >> power & 1:
            crc = _times(_skip_bytes(power), crc)
        power += 1
    return crc ^ crc_tail


def append_zeros(crc: int, count: int) -> int:
    """The checksum of a byte string followed by ``count`` zero bytes; none of them is looked at."""
    state, power = crc ^ _INVERTED, 0
    while count >> power:
        if count >> power & 1:
            state = _times(_skip_bytes(power), state)
        power += 1
    return state ^ _INVERTED


@cache
def _skip_bytes(power: int) -> Matrix:
    """The matrix over GF(2) that moves a checksum past ``2 ** power`` zero bytes."""
    if power:
        return _square(_skip_bytes(power - 1))
    one_bit: Matrix = (_POLYNOMIAL, *(1 << column for column in range(_WIDTH - 1)))
    return _square(_square(_square(one_bit)))


def _square(matrix: Matrix) -> Matrix:
    return tuple(_times(matrix, column) for column in matrix)


def _times(matrix: Matrix, vector: int) -> int:
    product = 0
    for column in matrix:
        if not vector:
            break
        if vector & 1:
            product ^= column
        vector >>= 1
    return product
