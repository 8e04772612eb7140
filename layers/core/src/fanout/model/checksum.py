"""The checksums that S3 keeps of objects, and how each is computed of bytes that are read at the other end.

The AWS common runtime computes CRC64NVME, which S3 keeps by default since December 2024, with the processor's
carry-less multiplication. It is loaded at the first use, so that importing this module costs nothing.

``ALGORITHMS`` is the one table, in the order in which two ends are compared where both tell several. The checksum of an
object that was uploaded in parts may be one of its parts' checksums (``COMPOSITE``); no reader of the bytes can compute
that, so only what S3 calls ``FULL_OBJECT`` counts. Of CRC64NVME there is no other.
"""

from __future__ import annotations

import binascii
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial
from typing import Any, Protocol

from msgspec import Struct

NO_BYTES = 0
# Checksums of the same bytes by the names of their algorithms, as S3 writes them.
Sums = Mapping[str, str]
CRC64NVME = "CRC64NVME"
TYPE = "x-amz-checksum-type"
FULL_OBJECT = "FULL_OBJECT"


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


class Running(Protocol):
    """A checksum of the bytes so far."""

    def update(self, data: bytes, /) -> object:
        """Add bytes."""

    def digest(self) -> bytes:
        """The checksum of all of them; called once."""


class Algorithm(Struct, frozen=True):
    """An algorithm, the length of its checksums in bytes and how one is begun.

    ``always_whole``: S3 has no composite checksums of it, so that one without a type is of the whole object.
    """

    length: int
    begin: Callable[[], Running]
    always_whole: bool = False


class _Crc:
    """A CRC, which is computed from the one before it."""

    def __init__(self, length: int, compute: Callable[[bytes, int], int]) -> None:
        self._length, self._compute, self._crc = length, compute, 0

    def update(self, data: bytes, /) -> None:
        self._crc = self._compute(data, self._crc)

    def digest(self) -> bytes:
        return self._crc.to_bytes(self._length, "big")


class _Xxhash:
    """A checksum of the XXHASH family, by the name of what begins it."""

    def __init__(self, name: str) -> None:
        self._running = getattr(engine().XXHash, name)()

    def update(self, data: bytes, /) -> None:
        self._running.update(data)

    def digest(self) -> bytes:
        whole: bytes = self._running.finalize()
        return whole


def _hash(name: str) -> Callable[[], Running]:
    return partial(hashlib.new, name, usedforsecurity=False)


ALGORITHMS: Mapping[str, Algorithm] = {
    CRC64NVME: Algorithm(8, partial(_Crc, 8, crc64nvme), always_whole=True),
    "SHA256": Algorithm(32, _hash("sha256")),
    "SHA512": Algorithm(64, _hash("sha512")),
    "SHA1": Algorithm(20, _hash("sha1")),
    "XXHASH128": Algorithm(16, partial(_Xxhash, "new_xxhash3_128")),
    "MD5": Algorithm(16, _hash("md5")),
    "XXHASH3": Algorithm(8, partial(_Xxhash, "new_xxhash3_64")),
    "XXHASH64": Algorithm(8, partial(_Xxhash, "new_xxhash64")),
    "CRC32C": Algorithm(4, partial(_Crc, 4, lambda data, before: engine().crc32c(data, before))),
    "CRC32": Algorithm(4, partial(_Crc, 4, lambda data, before: engine().crc32(data, before))),
}
_HEADERS = {name: f"x-amz-checksum-{name.lower()}" for name in ALGORITHMS}


def told_by(headers: Mapping[str, str]) -> dict[str, str]:
    """The checksums of a whole object that S3's answer about it holds."""
    found = {name: told_as(name, headers) for name, header in _HEADERS.items() if header in headers}
    return {name: text for name, text in found.items() if text}


def told_as(name: str, headers: Mapping[str, str]) -> str:
    """The one of this algorithm; empty where the answer holds none."""
    text = headers.get(_HEADERS[name], "")
    return text if text and _is_whole(ALGORITHMS[name], headers.get(TYPE, ""), text) else ""


def _is_whole(algorithm: Algorithm, kind: str, text: str) -> bool:
    if kind != FULL_OBJECT and (kind or not algorithm.always_whole):
        return False
    try:
        return len(binascii.a2b_base64(text, strict_mode=True)) == algorithm.length
    except binascii.Error:
        return False


def in_common(one: Iterable[str], other: Iterable[str]) -> list[str]:
    """The algorithms of both, in the order of the table."""
    both = {*one} & {*other}
    return [name for name in ALGORITHMS if name in both]


class RunningSums:
    """The checksums of bytes that are read once: CRC64NVME always, and one that the other end tells."""

    __slots__ = ("_crc", "_name", "_other")

    def __init__(self, told_elsewhere: Collection[str] = ()) -> None:
        self._name = next(iter(in_common(ALGORITHMS, told_elsewhere)), CRC64NVME) if told_elsewhere else CRC64NVME
        self._crc, self._other = NO_BYTES, None if self._name == CRC64NVME else ALGORITHMS[self._name].begin()

    def update(self, data: bytes) -> None:
        self._crc = crc64nvme(data, self._crc)
        if self._other is not None:
            self._other.update(data)

    def whole(self) -> dict[str, str]:
        """The checksums of all bytes, as S3 writes them."""
        found = {CRC64NVME: to_base64(self._crc)}
        return found if self._other is None else {**found, self._name: _base64(self._other.digest())}


def _base64(digest: bytes) -> str:
    return binascii.b2a_base64(digest, newline=False).decode("ascii")
