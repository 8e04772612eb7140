"""What PartitionShards wrote, read as a whole: one file of it tells whether another is missing."""

from __future__ import annotations

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import shard_from_row
from fanout.model.document import Json
from fanout.model.shard import Shard


class Partition(Struct, frozen=True):
    """The shards of copies and of parts of big files, and those of links, each with the shard that copies its files."""

    shards: list[Shard]
    links: list[tuple[Shard, str]]


def read_partition(ledger: Ledger, to_copy: int) -> Partition:
    """The partition of a run whose listing gave so many entries to copy.

    Raises ``LedgerBroken`` if a part is missing or not whole, or if the parts do not hold these entries.
    """
    shards, links = ledger.read_list(keys.SHARDS, _shard), links_of(ledger)
    held = sum(shard.entries for shard in shards) + sum(shard.entries for shard, _ in links)
    held += len(ledger.read_list(keys.BIG_FILES, lambda row: str(row["id"])))
    if held != to_copy:
        raise ledger.broken(keys.SHARDS, f"and what belongs to it hold {held} of {to_copy} entries to copy")
    return Partition(shards, links)


def is_partitioned(ledger: Ledger) -> bool:
    """Whether PartitionShards has ended."""
    return ledger.has(keys.SHARDS)


def links_of(ledger: Ledger) -> list[tuple[Shard, str]]:
    """The shards of links, each with the id of the shard that copies its files. Raises ``LedgerBroken``."""
    return ledger.read_list(keys.LINKS, lambda row: (_shard(row), str(row["copied_by"])))


def shards_of(ledger: Ledger) -> list[Shard]:
    """The shards of copies and of parts of big files. Raises ``LedgerBroken``."""
    return ledger.read_list(keys.SHARDS, _shard)


def entries_to_copy(listed: Json) -> int:
    """The entries that a round, or a segment, gave to copy."""
    shards = listed["shards"] + listed["loose"] + listed["names"]
    return sum(int(row["entries"]) for row in shards) + len(listed["big_files"])


def _shard(row: Json) -> Shard:
    return shard_from_row(row["shard"])
