"""Checksums and attributes of a shard's entries at the source: one function writes them, another reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import attributes_from_row, attributes_row
from fanout.model.checksum import CRC64NVME
from fanout.model.entry import Attributes, Entry
from fanout.model.errors import ItemError, LedgerBroken
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard
from fanout.verifying.sums.seen import Seen, UnreadEnd


class SourceChecksum(Struct, frozen=True):
    """The checksum of an entry as S3 writes it, and its attributes; or why it could not be read.

    ``sha256`` is the digest of its content where a certificate is asked for.
    """

    checksum: str = ""
    reason: Reason | None = None
    message: str = ""
    attributes: Attributes | None = None
    sha256: str = ""

    def get(self) -> UnreadEnd:
        """The look, with nothing left to read. Raises ``ItemError`` if it could not be read."""
        if self.reason is not None:
            raise ItemError(self.reason, self.message)
        return UnreadEnd(Seen({CRC64NVME: self.checksum} if self.checksum else {}, self.attributes, self.sha256))


def write_checksums(shard_id: str, name: str, found: dict[int, SourceChecksum], ledger: Ledger) -> None:
    rows = [_row(index, one) for index, one in found.items()]
    ledger.write_rows(keys.source_checksums_key(shard_id, name), rows)


def _row(index: int, one: SourceChecksum) -> list[Any]:
    attributes = one.attributes and attributes_row(one.attributes)
    row = [index, one.checksum, one.reason and one.reason.value, one.message, attributes]
    return [*row, one.sha256] if one.sha256 else row


def read_checksums(shard_id: str, ledger: Ledger) -> dict[int, SourceChecksum]:
    """The rows of all attempts; of two rows for one entry the first with a checksum counts."""
    found: dict[int, SourceChecksum] = {}
    for key in ledger.keys(keys.source_checksums_prefix(shard_id)):
        for row in ledger.read_rows(key):
            index, checksum = row[0], _from_row(row)
            if index not in found or found[index].reason is not None:
                found[index] = checksum
    return found


def _from_row(row: list[Any]) -> SourceChecksum:
    attributes = attributes_from_row(row[4]) if row[4] else None
    sha256 = row[5] if len(row) > 5 else ""
    return SourceChecksum(row[1], Reason(row[2]) if row[2] else None, row[3], attributes, sha256)


def work_of_checksums(shard: Shard, ledger: Ledger) -> dict[int, tuple[Entry, Callable[[], UnreadEnd], Result]]:
    """The entries of a shard with what they hold at the source, for VerifyShard.

    Raises ``LedgerBroken`` if DigestShard did not read them all.
    """
    found = read_checksums(shard.id, ledger)
    entries = ledger.read_shard(shard)
    if len(found) != len(entries):
        raise LedgerBroken(f"{len(found)} of {len(entries)} entries of {shard.id} have a checksum at the source")
    return {index: (entry, found[index].get, Result.UNCHANGED) for index, entry in enumerate(entries)}
