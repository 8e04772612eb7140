"""Sums of what attempts found, which add up in any order: digests of both trees, and the sums of a certificate.

The digest of an entry is the SHA-256 of its path, kind, size and checksum, that of a tree the sum of its entries'
digests modulo 2**256. So functions add up their parts in any order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result

_MODULUS = 1 << 256


def entry_digest(path: str, kind: str, size: int, checksum: str) -> int:
    """The digest of an entry whose bytes have this checksum (empty for a directory)."""
    text = "\0".join((path, kind, str(size), checksum))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest(), "big")


def digests_of(outcome: Outcome) -> tuple[int, int]:
    """The digests of an entry that was compared, at the source and at the destination; 0 for one that is left out."""
    if outcome.result is Result.SKIPPED:
        return 0, 0
    if outcome.digests is not None:
        return outcome.digests
    digest = entry_digest(outcome.path, outcome.kind, outcome.size, outcome.crc64nvme or "")
    return digest, digest


def with_digests(outcome: Outcome, source: int, destination: int) -> Outcome:
    """The outcome, which holds its digests where ``digests_of`` cannot make them."""
    return outcome if digests_of(outcome) == (source, destination) else replace(outcome, digests=(source, destination))


class BothDigests(Struct, frozen=True):
    """A sum of digests of entries, in hexadecimal, at the source and at the destination."""

    source: str = "0"
    destination: str = "0"

    def plus(self, source: int, destination: int) -> BothDigests:
        """This sum and one more entry; 0 for an end that lacks it."""
        found = (int(self.source, 16) + source) % _MODULUS, (int(self.destination, 16) + destination) % _MODULUS
        return BothDigests(*(f"{one:x}" for one in found))

    def __add__(self, other: BothDigests) -> BothDigests:
        return self.plus(int(other.source, 16), int(other.destination, 16))


def both_digests(outcomes: Iterable[Outcome]) -> BothDigests:
    """The sum of the digests of entries that were compared."""
    source = destination = 0
    for outcome in outcomes:
        here, there = digests_of(outcome)
        source, destination = source + here, destination + there
    return BothDigests().plus(source, destination)


class TreeSum(Struct, frozen=True):
    """The sum of a tree for a certificate: files and symlinks, their bytes, and the lanes in base64."""

    entries: int
    bytes: int
    lanes: str


class Certified(Struct, frozen=True):
    """The sums of an attempt at both ends, and the directories that it found equal, which are in no sum."""

    source: TreeSum
    destination: TreeSum
    directories: int = 0
