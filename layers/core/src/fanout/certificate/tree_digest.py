"""The digest of a tree: a sum over its files and symlinks that no order changes, and no chosen content can steer.

Each line is expanded by SHAKE-256 to 1,024 lanes of 16 bits; the lanes of all lines are added modulo 2**16. Functions
add up parts in any order. The digest is the SHA-256 of the lanes. It is LtHash16 with SHAKE-256 (Lewi, Kim, Maykov,
Weis 2019): to find two trees of one sum is a short-vector problem, while a sum of plain SHA-256 falls to Wagner's
generalised birthday. docs/reference/certificate.md is the definition for others.
"""

from __future__ import annotations

import base64
import hashlib
import os

from fanout.model.entry import Kind
from fanout.shards.found_sums import TreeSum

LANE_BYTES, LANES = 2, 1_024
STATE_BYTES = LANE_BYTES * LANES
# Every second lane, each with 16 free bits above it that take the carry.
_EVERY_SECOND = int.from_bytes(b"\xff\xff\0\0" * (LANES // 2), "little")


class TreeDigest:
    """Adds up entries of one tree. Each path is to be added once."""

    def __init__(self) -> None:
        self.entries, self.bytes = 0, 0
        self._even, self._odd = 0, 0

    def add(self, kind: Kind, path: str, size: int, sha256: str) -> None:
        """Add a file or symlink, by the digest of its content."""
        self._add_lanes(hashlib.shake_256(line_of(kind, path, size, sha256)).digest(STATE_BYTES))
        self.entries += 1
        self.bytes += size

    def merge(self, other: TreeSum) -> None:
        """Add what another function added up. Raises ``ValueError`` for lanes that are not whole."""
        lanes = base64.b64decode(other.lanes, validate=True)
        if len(lanes) != STATE_BYTES:
            raise ValueError(f"a sum of {len(lanes)} bytes, not of {STATE_BYTES}")
        self._add_lanes(lanes)
        self.entries += other.entries
        self.bytes += other.bytes

    def sum(self) -> TreeSum:
        return TreeSum(self.entries, self.bytes, base64.b64encode(self._state()).decode("ascii"))

    def hexdigest(self) -> str:
        return hashlib.sha256(self._state()).hexdigest()

    def _add_lanes(self, lanes: bytes) -> None:
        number = int.from_bytes(lanes, "little")
        self._even = (self._even + (number & _EVERY_SECOND)) & _EVERY_SECOND
        self._odd = (self._odd + ((number >> 16) & _EVERY_SECOND)) & _EVERY_SECOND

    def _state(self) -> bytes:
        return (self._even | (self._odd << 16)).to_bytes(STATE_BYTES, "little")


def line_of(kind: Kind, path: str, size: int, sha256: str) -> bytes:
    """The line of an entry; the path comes last, so that no name can imitate another field."""
    return b"\0".join((kind.value.encode(), str(size).encode(), sha256.encode(), os.fsencode(path)))
