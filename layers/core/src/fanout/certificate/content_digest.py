"""The digest of a file's content: SHA-256 over blocks, so that several functions may hash parts of a big file.

A file of at most one block has the SHA-256 of its bytes, which ``sha256sum`` prints. A larger one has the SHA-256 of
its blocks' digests, joined in order. docs/reference/certificate.md is the definition for others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from fanout.model.shard import block_bytes_of


def block_digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@lru_cache(maxsize=4)
def digest_of_zeros(length: int) -> bytes:
    """The SHA-256 of a block of zeros, which need not be read."""
    digest, piece = hashlib.sha256(), bytes(1 << 20)
    for _ in range(length // len(piece)):
        digest.update(piece)
    digest.update(bytes(length % len(piece)))
    return digest.digest()


def content_digest(blocks: Sequence[bytes]) -> str:
    """The digest of a file from those of all its blocks in order; an empty file has no block."""
    if not blocks:
        return block_digest(b"").hex()
    return blocks[0].hex() if len(blocks) == 1 else block_digest(b"".join(blocks)).hex()


class ContentDigest:
    """Hashes a file of a known size that is read from its beginning to its end, in pieces of any size."""

    def __init__(self, size: int) -> None:
        self._block_bytes = block_bytes_of(size)
        self._blocks: list[bytes] = []
        self._open, self._filled = hashlib.sha256(), 0

    def update(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            piece = view[: self._block_bytes - self._filled]
            self._open.update(piece)
            self._filled += len(piece)
            view = view[len(piece) :]
            if self._filled == self._block_bytes:
                self._close()

    def hexdigest(self) -> str:
        if self._filled:
            self._close()
        return content_digest(self._blocks)

    def _close(self) -> None:
        self._blocks.append(self._open.digest())
        self._open, self._filled = hashlib.sha256(), 0
