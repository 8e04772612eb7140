"""Big files: cut into blocks that several functions copy, and put together at the end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from fanout.ledger.ledger import Ledger
from fanout.model.checksum import NO_BYTES, combine
from fanout.model.shard import BigFile, Rates, Receipt, Shard
from fanout.shards.partitioned import is_partitioned, shards_of


def cut(big: BigFile, key: str, rates: Rates, target_seconds: float) -> Iterator[Shard]:
    """Shards of consecutive blocks, each of about ``target_seconds`` and at least one block.

    A shard's entries are none: the file is one entry, which gets its outcome when it is whole.
    """
    count = max(1, round(rates.seconds(1, big.entry.size) / target_seconds))
    per_shard = max(1, -(-big.blocks // count))
    for number, first in enumerate(range(0, big.blocks, per_shard)):
        end = min(first + per_shard, big.blocks)
        size = min(end * big.block_bytes, big.entry.size) - first * big.block_bytes
        seconds, held = round(rates.seconds(1, size), 3), big.entry.held
        yield Shard(f"{big.id}-{number:04d}", key, 0, size, seconds, (first, end), held)


def whole_checksum(big: BigFile, receipts: Iterable[Receipt]) -> int:
    """The checksum of the file from those of all its blocks, in their order."""
    checksum = NO_BYTES
    for receipt in receipts:
        checksum = combine(checksum, receipt.crc64nvme, big.block(receipt.index)[1])
    return checksum


def parts_of_big_files(ledger: Ledger) -> dict[str, list[Shard]]:
    """The shards of each big file by the key of its description."""
    parts: defaultdict[str, list[Shard]] = defaultdict(list)
    for shard in shards_of(ledger) if is_partitioned(ledger) else []:
        if shard.blocks is not None:
            parts[shard.key].append(shard)
    return parts
