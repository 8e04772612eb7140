"""The names of files with several: grouped by file, and put into shards of copies and of links.

Names of one file may be listed by any segment; ``name_buckets`` brings them together. With the names come the
directories that hold them and looked unchanged: linking a name again moves its directory's mtime.

Compares hard links: groups names of one file at both ends, and puts them into shards.

If a name's file differs from that of its other names, the row in its shard says how. VerifyShard reads
it there. The grouping sends no request to either end: both listings show the inodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.rows import entry_from_row, link_row, name_from_row, name_row
from fanout.model.books import Count
from fanout.model.entry import Entry, Kind
from fanout.model.path_rules import parent_of
from fanout.model.shard import Name, Shard
from fanout.request.plan import Plan
from fanout.shards.hard_links import Placed, files_of, place
from fanout.shards.partitioned import LINKS, NAME_SHARDS, Links, LinkShard
from fanout.verifying.link_groups import (
    ComparedName,
    by_destination,
    by_source,
    file_at_destination,
    file_at_source,
)
from fanout.work.context import Context
from fanout.work.name_buckets import listed_rows, spread_rows


def place_names(listed: list[Shard], plan: Plan, context: Context) -> list[Shard]:
    """Write the shards of names to copy, which are returned, links.json, and a note on further names."""
    linked = plan.keeps_hard_links
    writer = _HardLinkWriter(plan, context)
    further = Count()
    for bucket in _buckets(listed, context):
        for names in files_of(bucket, linked=linked):
            further += Count(len(names) - 1, sum(name.entry.size for name in names[1:]))
            writer.add(place(names, linked=linked))
    for directories in _directories(listed, writer.rewritten(), context):
        writer.add(directories)
    writer.close()
    context.ledger.write(LINKS, Links(writer.links))
    if further.entries:
        context.ledger.note("partition", [_note(further, linked, plan)])
    return writer.shards


def _note(further: Count, linked: bool, plan: Plan) -> str:
    what = f"{further.entries:,} further names of files with several hard links, {further.bytes:,} bytes,"
    if linked:
        return f"{what} are kept as hard links"
    kind = plan.kind_of(plan.request.destination)
    return f"{what} are stored as {'objects' if kind is None else 'files'} of their own"


def _buckets(listed: list[Shard], context: Context) -> Iterator[list[Name]]:
    count = sum(shard.entries for shard in listed)
    names = (row for row in listed_rows(listed, context) if not _is_directory(row))
    rows = spread_rows(names, count, lambda row: entry_from_row(row).inode, "by-file", context)
    return (list(map(name_from_row, bucket)) for bucket in rows)


def _is_directory(row: list[Any]) -> bool:
    return bool(row[1] == Kind.DIRECTORY.value)


def _directories(listed: list[Shard], rewritten: Iterator[list[Any]], context: Context) -> Iterator[Placed]:
    """The directories that were right as long as no name in them is written again; ``rewritten`` are those."""
    count = sum(shard.entries for shard in listed)
    held = (row for row in listed_rows(listed, context) if _is_directory(row))
    for bucket in spread_rows(chain(rewritten, held), count, lambda row: str(row[0]), "by-directory", context):
        written = {row[0] for row in bucket if len(row) == 1}
        for name in (name_from_row(row) for row in bucket if len(row) > 1):
            right = name.unchanged and name.entry.path not in written
            yield Placed(unchanged=[name.entry]) if right else Placed(copies=[name.entry])


class _HardLinkWriter:
    """Writes shards of copies, and with each the shard of links that waits for it."""

    def __init__(self, plan: Plan, context: Context) -> None:
        self._plan, self._ledger, self._nonce = plan, context.ledger, context.nonce
        self._copies: list[Entry] = []
        self._links: list[tuple[Entry, str]] = []
        self._rewritten: list[list[str]] = []
        self._rewritten_files: list[str] = []
        self._seconds = 0.0
        self._number = 0
        self.shards: list[Shard] = []
        self.links: list[LinkShard] = []

    def add(self, placed: Placed) -> None:
        """Take what becomes of one file's names."""
        self._copies += placed.copies
        self._links += placed.links + [(entry, "") for entry in placed.unchanged]
        self._seconds += self._plan.rates.seconds(len(placed.copies), sum(entry.size for entry in placed.copies))
        full = len(self._copies) + len(self._links) >= tuning.SHARD_ENTRIES
        if full or self._seconds >= self._plan.request.limits.shard_seconds:
            self.close()
        for entry in placed.rewritten:
            self._rewrite(parent_of(entry.path))

    def _rewrite(self, directory: str) -> None:
        if self._rewritten and self._rewritten[-1] == [directory]:
            return
        self._rewritten.append([directory])
        if len(self._rewritten) >= tuning.LINKED_NAMES:
            number = len(self._rewritten_files)
            key = keys.spilled_names_key("rewritten", 0, self._nonce, number)
            self._ledger.write_rows(key, self._rewritten)
            self._rewritten_files.append(key)
            self._rewritten = []

    def rewritten(self) -> Iterator[list[Any]]:
        """The paths of the directories that names were written into though they looked unchanged, a row each."""
        for key in self._rewritten_files:
            yield from self._ledger.read_rows(key)
        yield from self._rewritten

    def close(self) -> None:
        copied_by = ""
        if self._copies:
            copied_by = f"names-{self._number:06d}"
            key = self._ledger.write_shard(copied_by, self._copies)
            size = sum(entry.size for entry in self._copies)
            self.shards.append(Shard(copied_by, key, len(self._copies), size, round(self._seconds, 3)))
        if self._links:
            shard_id = f"links-{self._number:06d}"
            key = keys.shard_key(shard_id)
            self._ledger.write_rows(key, (link_row(entry, first) for entry, first in self._links))
            size = sum(entry.size for entry, _ in self._links)
            shard = Shard(shard_id, key, len(self._links), size, 0.0)
            self.links.append(LinkShard(shard, copied_by))
        self._copies, self._links, self._seconds = [], [], 0.0
        self._number += 1


def compare_names(listed: list[Shard], plan: Plan, context: Context) -> list[Shard]:
    """Write the shards of the names that were listed, each name with how its grouping differs; returns the shards."""
    count = sum(shard.entries for shard in listed)
    names = map(name_from_row, listed_rows(listed, context))
    found = _grouped(map(ComparedName, names), count, file_at_source, by_source, "by-source", context)
    found = _grouped(found, count, file_at_destination, by_destination, "by-destination", context)
    shards: list[Shard] = []
    held: list[ComparedName] = []
    seconds = 0.0
    for one in chain(found, [None]):  # the last ends the last shard
        full = seconds >= plan.request.limits.shard_seconds or len(held) >= tuning.SHARD_ENTRIES
        if held and (one is None or full):
            shards.append(_write(held, seconds, len(shards), context))
            held, seconds = [], 0.0
        if one is not None:
            held.append(one)
            seconds += plan.rates.seconds(1, one.name.entry.size)
    return shards


def _write(names: list[ComparedName], seconds: float, number: int, context: Context) -> Shard:
    shard_id = f"{NAME_SHARDS}{number:06d}"
    key = keys.shard_key(shard_id)
    context.ledger.write_rows(key, (link_row(one.name.entry, one.difference) for one in names))
    return Shard(shard_id, key, len(names), sum(one.name.entry.size for one in names), seconds)


def _grouped(
    names: Iterable[ComparedName],
    count: int,
    file_of: Callable[[Name], str],
    group: Callable[[Iterable[ComparedName]], Iterator[ComparedName]],
    where: str,
    context: Context,
) -> Iterator[ComparedName]:
    written = ([*name_row(one.name), one.difference] for one in names)
    rows = spread_rows(written, count, lambda row: file_of(_from_row(row).name), where, context)
    return chain.from_iterable(group(map(_from_row, bucket)) for bucket in rows)


def _from_row(row: list[Any]) -> ComparedName:
    return ComparedName(name_from_row(row[:-1]), row[-1])
