"""Entries on their way between two mounts: where in the staged objects their bytes lie."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fanout.ledger.rows import attributes_from_row, attributes_row
from fanout.model.entry import Attributes


class Chunk(Struct, frozen=True):
    """``length`` bytes of an entry from ``offset`` on: those of the staged object ``key`` from ``start`` on."""

    offset: int
    length: int
    key: str
    start: int


class Packed(Struct, frozen=True):
    """A whole entry as it was read; bytes that no chunk holds are zeros. Chunks are in the order of their offsets.

    ``is_above``: no entry is staged by it; it says what a directory above some will get.
    """

    path: str
    crc64nvme: int
    attributes: Attributes
    chunks: tuple[Chunk, ...] = ()
    is_above: bool = False

    @property
    def place(self) -> tuple[str, int]:
        """Where its bytes begin: entries in this order read each staged object once."""
        return (self.chunks[0].key, self.chunks[0].start) if self.chunks else ("", 0)


def packed_row(packed: Packed) -> list[Any]:
    """A packed entry, as a row of the index of a pack."""
    chunks = [[chunk.offset, chunk.length, chunk.key, chunk.start] for chunk in packed.chunks]
    row = [packed.path, f"{packed.crc64nvme:016x}", attributes_row(packed.attributes), chunks]
    return [*row, True] if packed.is_above else row


def packed_from_row(row: list[Any]) -> Packed:
    path, checksum, attributes, chunks = row[:4]
    held = tuple(Chunk(*chunk) for chunk in chunks)
    return Packed(path, int(checksum, 16), attributes_from_row(attributes), held, is_above=len(row) > 4)
