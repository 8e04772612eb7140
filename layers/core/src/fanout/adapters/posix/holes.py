"""Which parts of a block have to be written."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.facts.units import KIB

# Smaller holes save too little for their operations.
CHUNK_BYTES = 64 * KIB
_ZEROS = bytes(CHUNK_BYTES)


def runs_of_data(block: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of a block that are left without its whole chunks of zeros, as long as can be.

    A shorter chunk at the end is data, so that a small file needs no operation but its write.
    """
    start = 0
    for chunk in range(0, len(block), CHUNK_BYTES):
        if block.startswith(_ZEROS, chunk):
            if start < chunk:
                yield start, chunk
            start = chunk + CHUNK_BYTES
    if start < len(block):
        yield start, len(block)
