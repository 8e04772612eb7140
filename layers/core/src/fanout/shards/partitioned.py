"""Reads all results of PartitionShards; a file of them shows whether another is missing."""

from __future__ import annotations

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.kind import FIRST, ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.path_rules import PlainNameOrNone
from fanout.model.shard import Shard
from fanout.shards.round_records import ListedBigFile, ListingResults


class MapItem(Struct, frozen=True):
    """An item of shards.json, which CopyShards and VerifyShards read."""

    shard: Shard


SHARDS = keys.SHARDS.of(list[MapItem])


class LinkShard(Struct, frozen=True):
    """A shard of links, and the id of the shard that copies their files; empty where none is copied."""

    shard: Shard
    copied_by: PlainNameOrNone


class Links(Struct, frozen=True):
    """links.json: the shards of further names."""

    links: list[LinkShard]


LINKS = ObjectKind("links.json", Links, by=("PartitionShards",), wave=FIRST)


class ListedBigFiles(Struct, frozen=True):
    """big-files.json: the big files that the listing counts."""

    big_files: list[ListedBigFile]


BIG_FILES = ObjectKind("big-files.json", ListedBigFiles, by=("PartitionShards",), wave=FIRST)


class Partition(Struct, frozen=True):
    """The shards of copies and of parts of big files, and those of links, each with the shard that copies its files."""

    shards: list[Shard]
    links: list[LinkShard]


def read_partition(ledger: Ledger, to_copy: int) -> Partition:
    """The partition of a run whose listing gave so many entries to copy.

    Raises ``LedgerBroken`` if a part is missing or not whole, or if the parts do not hold these entries.
    """
    shards, links = shards_of(ledger), links_of(ledger)
    held = sum(shard.entries for shard in shards) + sum(one.shard.entries for one in links)
    held += len(ledger.read(BIG_FILES).big_files)
    ids = [shard.id for shard in shards] + [one.shard.id for one in links]
    if len(set(ids)) != len(ids):
        raise ledger.broken(SHARDS, "and what belongs to it name a shard twice")
    if held != to_copy:
        raise ledger.broken(SHARDS, f"and what belongs to it hold {held} of {to_copy} entries to copy")
    return Partition(shards, links)


def is_partitioned(ledger: Ledger) -> bool:
    """Whether PartitionShards has ended."""
    return ledger.has(SHARDS)


def links_of(ledger: Ledger) -> list[LinkShard]:
    """The shards of links, each with the id of the shard that copies its files. Raises ``LedgerBroken``."""
    return ledger.read(LINKS).links


def shards_of(ledger: Ledger) -> list[Shard]:
    """The shards of copies and of parts of big files. Raises ``LedgerBroken``."""
    return [item.shard for item in ledger.read(SHARDS)]


def entries_to_copy(listed: ListingResults) -> int:
    """The entries that a round, or a segment, gave to copy."""
    return sum(shard.entries for shard in listed.shards + listed.loose + listed.names) + len(listed.big_files)


# The prefix of the ids of shards of names.
NAME_SHARDS = "names-"


def link_differences(shard: Shard, ledger: Ledger) -> dict[str, str]:
    """How the names of a shard are grouped differently, by path; empty for a shard of other entries."""
    if not shard.id.startswith(NAME_SHARDS):
        return {}
    return {row[0]: row[-1] for row in ledger.read_rows(shard.key) if row[-1]}
