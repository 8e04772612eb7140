"""The work of one function: a shard, a part of a big file with its receipts, names of files with several hard links."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

from msgspec import Struct, field

from fanout.facts import aws, tuning, units
from fanout.model.checksum import NO_BYTES
from fanout.model.entry import Entry
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import PlainName, PlainNameOrNone

# In one directory: one creation after the other, at the best-case latency of a write.
CREATIONS_PER_SECOND = 1 / aws.EFS_WRITE_SECONDS


class Rates(Struct, frozen=True):
    """The speed of one function: seconds an entry and bytes a second."""

    seconds_per_entry: float
    bytes_per_second: float

    def seconds(self, entries: int, size: int) -> float:
        """Predicted seconds for so many entries of ``size`` bytes in all."""
        return entries * self.seconds_per_entry + size / self.bytes_per_second

    def seconds_of_each(self, sizes: Sequence[int]) -> list[float]:
        """Predicted seconds for each of entries by their bytes."""
        one, rate = self.seconds_per_entry, self.bytes_per_second
        return [one + size / rate for size in sizes]


class Name(Struct, frozen=True):
    """A name of a file with several hard links: whether the destination's file is right, and its inode there."""

    entry: Entry
    unchanged: bool
    inode_there: str

    @property
    def looks_linked(self) -> bool:
        """Whether nothing is to be done for it unless another name of its file is new."""
        return self.unchanged and bool(self.inode_there)


class BigFile(Struct, frozen=True):
    """A file that is copied, or only compared, in blocks of ``block_bytes``.

    ``token`` is what the destination knows it by while it is written; empty where it is only compared.
    """

    id: PlainName
    entry: Entry
    block_bytes: int
    token: PlainNameOrNone

    @property
    def blocks(self) -> int:
        """The number of blocks, the last of which may be shorter."""
        return -(-self.entry.size // self.block_bytes)

    def block(self, index: int) -> tuple[int, int]:
        """Offset and length of a block in bytes."""
        offset = index * self.block_bytes
        return offset, min(self.block_bytes, self.entry.size - offset)


class Receipt(Struct, frozen=True):
    """The result of a block: its checksum and the destination's token for it, or why it failed.

    ``sha256`` is its digest where a certificate is asked for, else empty.
    """

    index: int
    crc64nvme: int = NO_BYTES
    etag: str = ""
    reason: Reason | None = None
    message: str = ""
    sha256: str = ""


class Lot(NamedTuple):
    """Entries that are held, linked and done alike: see ``Shard``."""

    held: str = ""
    linked: bool = False
    done: bool = False

    def rates(self, rates: Rates) -> Rates:
        """The rates of its entries: no byte passes of those that are linked or done."""
        return Rates(rates.seconds_per_entry, inf) if self.linked or self.done else rates


class Shard(Struct, frozen=True, omit_defaults=True):
    """A shard as the other states know it: its file in the ledger, its size, its predicted seconds.

    A shard of ``blocks`` (the first, and the one after the last) is a part of the big file that ``key`` describes.
    ``held`` is what holds its entries, and must be made to give them back first; empty for nothing.
    ``linked``: the published version holds its entries as they are, so that the new one gets names of their files.
    ``done``: an earlier run copied its entries and did not verify them, so that this one only verifies them.
    ``page`` is the page of its list that holds it: see ``LedgerObjects.write_items``.
    """

    id: PlainName
    key: str
    entries: int
    bytes: int
    seconds: float
    blocks: tuple[int, int] | None = None
    held: str = field(default="", name="archive")
    linked: bool = False
    done: bool = False
    page: int = 0

    @property
    def lot(self) -> Lot:
        """Entries of different lots are in different shards."""
        return Lot(self.held, self.linked, self.done)

    @property
    def items(self) -> int:
        """The number of entries, or of blocks, that each need an outcome."""
        return self.entries if self.blocks is None else self.blocks[1] - self.blocks[0]


class Deletion(Struct, frozen=True):
    """A shard of extras, either of files and objects, or of directories."""

    shard: Shard
    directories: bool


def block_bytes_of(size: int) -> int:
    """8 MiB, or the whole MiB in which a file fits the 10,000 parts of one multipart upload."""
    mebibytes = -(-size // (aws.MULTIPART_PARTS * units.MIB))
    return max(tuning.BLOCK_BYTES, mebibytes * units.MIB)


def failed_block(index: int, error: ItemError) -> Receipt:
    """The receipt of a block that could not be copied."""
    return Receipt(index, reason=error.reason, message=error.message)
