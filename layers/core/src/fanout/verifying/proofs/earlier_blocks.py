"""Finds the blocks of big files that the comparisons of the runs that a move resumes have read.

| a block that an earlier comparison read | is taken over where                                        |
|-----------------------------------------|------------------------------------------------------------|
| at the source                           | the file is listed as it was                               |
| at the destination                      | the copy has the pin that it had then (``pin_of_copy``)    |

A block is taken over at one end alone; whether the ends are equal is decided when all blocks of both were read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry
from fanout.model.shard import BigFile, Receipt
from fanout.shards.big_files import parts_of_big_files

_READS_IN_FLIGHT = 32


class EarlierPart(Struct, frozen=True):
    """A shard of blocks: the first, and the one after the last."""

    shard_id: str
    first: int
    end: int


class EarlierBigFile(Struct, frozen=True):
    """A big file of an earlier comparison, by the key of its description, and its parts of which blocks were read."""

    run_id: str
    path: str
    key: str
    parts: list[EarlierPart]


def is_listed_as(listed: Entry, before: Entry) -> bool:
    """Whether a source is listed as it was before: on a mount by ctime, inode, size and mtime, in S3 by its ETag."""
    return replace(listed, replaces="", held="") == replace(before, replaces="", held="")


def big_files_of(earlier: Ledger) -> Iterator[EarlierBigFile]:
    """The big files of which an earlier comparison read blocks."""
    read = {key.removeprefix(keys.OUTCOMES).partition("/")[0] for key in earlier.keys(keys.OUTCOMES)}
    found: dict[str, list[EarlierPart]] = {}
    for key, shards in parts_of_big_files(earlier).items():
        begun = [one for one in shards if read & {keys.source_id(one.id), keys.verified_id(one.id)}]
        if begun:
            found[key] = [EarlierPart(one.id, *one.blocks) for one in begun if one.blocks is not None]
    with ThreadPoolExecutor(_READS_IN_FLIGHT, thread_name_prefix="proofs") as threads:
        for (key, parts), big in zip(found.items(), threads.map(earlier.read_big_file, found), strict=True):
            yield EarlierBigFile(earlier.run_id, big.entry.path, key, parts)


def earlier_blocks(
    big: BigFile,
    wanted: Collection[int],
    receipts_id: Callable[[str], str],
    pin: str,
    known: list[EarlierBigFile],
    ledger: Ledger,
) -> dict[int, Receipt]:
    """The receipts of an end that hold for blocks of a file, by the module's table.

    ``pin`` is that of the copy; empty for the source, which its entry pins.
    """
    found: dict[int, Receipt] = {}
    for file in known:
        if file.path != big.entry.path or len(found) == len(wanted):
            continue
        earlier = ledger.of_run(file.run_id).verification()
        before = earlier.read_big_file(file.key)
        if before.block_bytes != big.block_bytes or not is_listed_as(big.entry, before.entry):
            continue
        for part in file.parts:
            if any(part.first <= index < part.end for index in wanted):
                for index, receipt in earlier.read_receipts(receipts_id(part.shard_id)).items():
                    if index in wanted and receipt.reason is None and receipt.etag == pin:
                        found.setdefault(index, receipt)
    return found
