"""Compares hard links: groups names of one file at both ends, and puts them into shards.

If a name's file differs from that of its other names, the row in its shard says how. VerifyShard reads
it there. The grouping sends no request to either end: both listings show the inodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.rows import link_row, name_from_row, name_row
from fanout.model.shard import Name, Shard
from fanout.request.plan import Plan
from fanout.verifying.links.link_differences import NAME_SHARDS
from fanout.verifying.links.link_groups import (
    ComparedName,
    by_destination,
    by_source,
    file_at_destination,
    file_at_source,
)
from fanout.work.context import Context
from fanout.work.name_buckets import listed_rows, spread_rows


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
    rows = spread_rows(map(_row, names), count, lambda row: file_of(_from_row(row).name), where, context)
    return chain.from_iterable(group(map(_from_row, bucket)) for bucket in rows)


def _row(one: ComparedName) -> list[Any]:
    return [*name_row(one.name), one.difference]


def _from_row(row: list[Any]) -> ComparedName:
    return ComparedName(name_from_row(row[:-1]), row[-1])
