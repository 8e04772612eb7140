"""Big files: cut into blocks that several functions copy, and put together at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from fanout.domain import limits
from fanout.domain.checksums import NO_BYTES, combine
from fanout.domain.entries import Entry
from fanout.domain.outcomes import Reason
from fanout.domain.partitioning import Shard
from fanout.domain.rows import entry_from_row, entry_row
from fanout.domain.weights import Rates


class BigFile(Struct, frozen=True):
    """A file that is copied, or only compared, in blocks of ``block_bytes``.

    ``token`` is what the destination knows it by while it is written; empty where it is only compared.
    """

    id: str
    entry: Entry
    block_bytes: int
    token: str

    @property
    def blocks(self) -> int:
        """The number of blocks, the last of which may be shorter."""
        return -(-self.entry.size // self.block_bytes)

    def block(self, index: int) -> tuple[int, int]:
        """Offset and length of a block in bytes."""
        offset = index * self.block_bytes
        return offset, min(self.block_bytes, self.entry.size - offset)


class Receipt(Struct, frozen=True):
    """What became of a block: its checksum and the destination's word for it, or why it failed."""

    index: int
    crc64nvme: int = NO_BYTES
    etag: str = ""
    reason: Reason | None = None
    message: str = ""


def block_bytes_of(size: int) -> int:
    """8 MiB, or the whole MiB in which a file fits the 10,000 parts of one multipart upload."""
    mebibytes = -(-size // (limits.MULTIPART_PARTS * limits.MIB))
    return max(limits.BLOCK_BYTES, mebibytes * limits.MIB)


def cut(big: BigFile, key: str, rates: Rates, target_seconds: float) -> Iterator[Shard]:
    """Shards of consecutive blocks, each of about ``target_seconds`` and at least one block.

    A shard's entries are none: the file is one entry, which gets its outcome when it is whole.
    """
    count = max(1, round(rates.seconds(1, big.entry.size) / target_seconds))
    per_shard = max(1, -(-big.blocks // count))
    for number, first in enumerate(range(0, big.blocks, per_shard)):
        end = min(first + per_shard, big.blocks)
        size = min(end * big.block_bytes, big.entry.size) - first * big.block_bytes
        yield Shard(f"{big.id}-{number:04d}", key, 0, size, rates.seconds(1, size), (first, end))


def whole_checksum(big: BigFile, receipts: Iterable[Receipt]) -> int:
    """The checksum of the file from those of all its blocks, in their order."""
    checksum = NO_BYTES
    for receipt in receipts:
        checksum = combine(checksum, receipt.crc64nvme, big.block(receipt.index)[1])
    return checksum


def big_file_row(big: BigFile) -> dict[str, Any]:
    """A big file, as it stands in the ledger."""
    return {"id": big.id, "entry": entry_row(big.entry), "block_bytes": big.block_bytes, "token": big.token}


def big_file_from_row(row: dict[str, Any]) -> BigFile:
    """The big file of a row."""
    return BigFile(row["id"], entry_from_row(row["entry"]), row["block_bytes"], row["token"])


def receipt_row(receipt: Receipt) -> dict[str, Any]:
    """What became of a block, as it stands in the ledger."""
    row: dict[str, Any] = {"index": receipt.index, "crc64nvme": f"{receipt.crc64nvme:016x}"}
    if receipt.etag:
        row["etag"] = receipt.etag
    if receipt.reason is not None:
        row |= {"reason": receipt.reason.value, "message": receipt.message}
    return row


def receipt_from_row(row: dict[str, Any]) -> Receipt:
    """The receipt of a row."""
    reason = Reason(row["reason"]) if "reason" in row else None
    return Receipt(row["index"], int(row["crc64nvme"], 16), row.get("etag", ""), reason, row.get("message", ""))
