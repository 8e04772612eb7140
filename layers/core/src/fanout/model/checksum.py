"""CRC64NVME, the full-object checksum that S3 keeps by default since December 2024.

The AWS common runtime computes it, with the processor's carry-less multiplication. It is loaded at the first use,
so that importing this module costs nothing.
"""

from __future__ import annotations

import binascii
from functools import cache
from typing import Any

NO_BYTES = 0


@cache
def engine() -> Any:
    from awscrt import checksums

    return checksums


def crc64nvme(data: bytes, previous: int = NO_BYTES) -> int:
    """The checksum of what ``previous`` covers followed by ``data``."""
    checksum: int = engine().crc64nvme(data, previous)
    return checksum


def combine(crc_head: int, crc_tail: int, tail_bytes: int) -> int:
    """The checksum of two byte strings joined, from theirs and the length of the second."""
    checksum: int = engine().combine_crc64nvme(crc_head, crc_tail, tail_bytes)
    return checksum


def append_zeros(crc: int, count: int) -> int:
    """The checksum of a byte string followed by ``count`` zero bytes; none of them is looked at."""
    power = 0
    while count >> power:
        if count >> power & 1:
            crc = combine(crc, _of_zeros(power), 1 << power)
        power += 1
    return crc


@cache
def _of_zeros(power: int) -> int:
    """The checksum of ``2 ** power`` zero bytes."""
    if not power:
        return crc64nvme(b"\0")
    half = _of_zeros(power - 1)
    return combine(half, half, 1 << (power - 1))


def to_base64(crc: int) -> str:
    """The checksum as S3 writes it: base64 of 8 big-endian bytes."""
    return binascii.b2a_base64(crc.to_bytes(8, "big"), newline=False).decode("ascii")


def from_base64(text: str) -> int:
    """The checksum of what ``to_base64`` writes."""
    return int.from_bytes(binascii.a2b_base64(text), "big")
