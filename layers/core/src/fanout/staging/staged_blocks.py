"""Blocks of a big file on their way between two mounts: a staged object each."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from fanout.ledger.ledger import Ledger
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.entry import Attributes, Entry
from fanout.model.errors import NotFound, Transient
from fanout.model.shard import BigFile, Receipt
from fanout.ports.tree import OpensEntries, Source, WholeSource
from fanout.staging.pack_writer import BLOCKS

# A receipt's mark of a block that was staged; a block of zeros is not.
STAGED = "staged"


def _key(shard_id: str, offset: int) -> str:
    return f"{shard_id}/{BLOCKS}/{offset:020d}"


class StagedBlockTarget:
    """A ``ports.tree.BlockTarget`` that stages blocks; whichever attempt writes one, it holds the same bytes."""

    keeps_holes = True
    takes_pieces = False

    def __init__(self, staged: Ledger, shard_id: str) -> None:
        self._staged, self._shard_id = staged, shard_id

    def sync(self) -> None:
        """See ``ports.tree.BlockTarget``; an object stays when it is there."""

    def write(self, index: int, offset: int, data: bytes, crc64nvme: int) -> str:
        if not data.strip(b"\0"):
            return ""
        self._staged.write_bytes(_key(self._shard_id, offset), data)
        return STAGED

    def complete(self, receipts: Sequence[Receipt], crc64nvme: int, attributes: Attributes) -> None:
        """See ``ports.tree.BlockTarget``; the file is completed at the destination."""

    def discard(self) -> None:
        """See ``ports.tree.BlockTarget``; what is staged is removed with the shard's."""


class ConfirmedTree:
    """The source of staged blocks. Each block is pinned by itself, because no later step checks the whole file."""

    overlaps = False

    def __init__(self, source: OpensEntries) -> None:
        self._source = source

    def open(self, entry: Entry) -> Source:
        return _Confirmed(self._source.open(entry))


class _Confirmed:
    def __init__(self, source: Source) -> None:
        self._source = source
        self.attributes = source.attributes
        self.confirm = source.confirm
        self.close = source.close

    def read(self, offset: int, length: int) -> bytes:
        data = self._source.read(offset, length)
        self._source.confirm(None)
        return data

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        """See ``ports.tree.Source``; a block counts when it is confirmed."""
        yield self.read(offset, length)

    def zeros_at(self, offset: int) -> int:
        zeros = self._source.zeros_at(offset)
        if zeros:
            self._source.confirm(None)
        return zeros


class StagedBlocksTree:
    """A tree that holds the staged blocks of one part of a big file."""

    overlaps = False

    def __init__(self, staged: Ledger, shard_id: str, big: BigFile, receipts: dict[int, Receipt]) -> None:
        self._staged, self._shard_id, self._big = staged, shard_id, big
        self._receipts = receipts
        self.block_bytes_of_file = big.block_bytes

    def open(self, entry: Entry) -> Source:
        return _StagedPart(self)

    def is_staged(self, offset: int) -> bool:
        """Whether the block at this offset has bytes; else it is zeros."""
        return self._receipts[offset // self._big.block_bytes].etag == STAGED

    def read_block(self, offset: int, length: int) -> bytes:
        """A block, as it was read at the source. Raises ``Transient`` if it is not."""
        try:
            data = self._staged.read_bytes(_key(self._shard_id, offset)) if self.is_staged(offset) else bytes(length)
        except NotFound as error:
            raise Transient(f"the staged block at {offset} is gone: another attempt has finished the part") from error
        if crc64nvme(data, NO_BYTES) != self._receipts[offset // self._big.block_bytes].crc64nvme:
            raise Transient(f"the staged block at {offset} is not what was read at the source")
        return data


class _StagedPart(WholeSource):
    """The ``Source`` of a part of a big file whose blocks are staged."""

    attributes = Attributes()

    def __init__(self, tree: StagedBlocksTree) -> None:
        self._tree = tree

    def read(self, offset: int, length: int) -> bytes:
        """See ``ports.tree.Source``; asked for whole blocks alone."""
        return self._tree.read_block(offset, length)

    def zeros_at(self, offset: int) -> int:
        return 0 if self._tree.is_staged(offset) else self._tree.block_bytes_of_file
