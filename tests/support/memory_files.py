"""Files of a tree in memory, as they are read and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, field

from fanout.model.checksum import crc64nvme
from fanout.model.entry import Attributes, Entry
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.shard import Receipt
from fanout.ports.tree import WholeSource


class Stored(Struct, frozen=True):
    """An entry with its bytes (a symlink's are its target) and attributes."""

    entry: Entry
    data: bytes = b""
    attributes: Attributes = field(default_factory=Attributes)


class MemorySource(WholeSource):
    """What was opened cannot change."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self.attributes = stored.attributes

    def read(self, offset: int, length: int) -> bytes:
        return self._stored.data[offset : offset + length]


class Kept(Protocol):
    """The tree that a file is of."""

    def replace(self, entry: Entry, data: bytes, attributes: Attributes) -> None:
        """Store an entry; see ``MemoryTree``."""

    def contents(self) -> dict[str, Stored]:
        """Everything that the tree holds, by path."""
        ...


class MemoryTarget:
    """A ``Target`` of a ``MemoryTree``."""

    keeps_holes = False
    takes_pieces = False

    def __init__(self, tree: Kept, entry: Entry, attributes: Attributes) -> None:
        self._tree, self._entry, self._attributes = tree, entry, attributes
        self._data = bytearray()

    def write(self, offset: int, data: bytes) -> None:
        self._data[offset:offset] = data

    def send(self, crc64nvme: int) -> None:
        """Nothing is waited for."""

    def commit(self, checksum: int) -> None:
        if crc64nvme(bytes(self._data)) != checksum:
            raise ItemError(Reason.CHECKSUM, "what was written is not what was read")
        self._tree.replace(self._entry, bytes(self._data), self._attributes)

    def abort(self) -> None:
        """Nothing is visible before the commit."""


class MemoryBlocks:
    """A ``BlockTarget`` of a ``MemoryTree``."""

    keeps_holes = False
    takes_pieces = False

    def __init__(self, tree: Kept, entry: Entry, blocks: dict[int, bytes]) -> None:
        self._tree, self._entry, self._blocks = tree, entry, blocks

    def sync(self) -> None:
        """Memory keeps nothing back."""

    def write(self, index: int, offset: int, data: bytes, checksum: int) -> str:
        if crc64nvme(data) != checksum:
            raise ItemError(Reason.CHECKSUM, "what was written is not what was read")
        self._blocks[index] = data
        return f'"{index}"'

    def complete(self, receipts: Sequence[Receipt], checksum: int, attributes: Attributes) -> None:
        if not self._blocks and self._tree.contents()[self._entry.path].entry.size == self._entry.size:
            return
        data = b"".join(self._blocks[receipt.index] for receipt in receipts)
        if crc64nvme(data) != checksum or len(data) != self._entry.size:
            raise ItemError(Reason.CHECKSUM, "what was written is not what was read")
        self._tree.replace(self._entry, data, attributes)
        self._blocks.clear()

    def discard(self) -> None:
        self._blocks.clear()
