"""Brings the names of each hard-linked file together, in memory that does not grow with the tree.

Any segment may list names of a file, so names are spread over buckets by a hash of the file. There are enough
buckets to hold ``tuning.LINKED_NAMES`` each on average, and they are processed one by one. So memory holds about
twice as many names at once, for any tree; only the names of one file are never separated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from zlib import crc32

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.model.shard import Shard
from fanout.work.context import Context
from fanout.work.parallel import ahead

JsonRow = list[Any]


def listed_rows(listed: list[Shard], context: Context) -> Iterator[JsonRow]:
    """The rows of names that the segments wrote, as the ledger holds them."""
    for shard in listed:
        yield from context.ledger.read_rows(shard.key)


def spread_rows(
    rows: Iterable[JsonRow], count: int, file_of: Callable[[JsonRow], str], where: str, context: Context
) -> Iterator[list[JsonRow]]:
    """``count`` rows in buckets; those of which ``file_of`` says the same are in one. ``where`` tells spills apart."""
    buckets = -(-count // tuning.LINKED_NAMES)
    if buckets <= 1:
        yield list(rows)
        return
    spilled: list[list[str]] = [[] for _ in range(buckets)]
    held: list[list[JsonRow]] = [[] for _ in range(buckets)]
    for number, row in enumerate(rows, start=1):
        held[crc32(file_of(row).encode("utf-8", "surrogateescape")) % buckets].append(row)
        if number % tuning.LINKED_NAMES == 0:
            _spill(held, spilled, where, context)
    _spill(held, spilled, where, context)
    ledger = context.ledger
    for files in spilled:
        reading = ahead(lambda key: list(ledger.read_rows(key)), files, tuning.LEDGER_FILES_AHEAD)
        yield [row for _, rows in reading for row in rows]


def _spill(held: list[list[JsonRow]], spilled: list[list[str]], where: str, context: Context) -> None:
    """Write what each bucket holds, many files at once: of very many names one after the other would take too long."""
    files: list[tuple[str, list[JsonRow]]] = []
    for bucket, rows in enumerate(held):
        if rows:
            key = keys.spilled_names_key(where, bucket, context.nonce, len(spilled[bucket]))
            files.append((key, rows))
            spilled[bucket].append(key)
    for _ in ahead(lambda file: context.ledger.write_rows(*file), files, tuning.LEDGER_FILES_AHEAD):
        pass
    for rows in held:
        rows.clear()
