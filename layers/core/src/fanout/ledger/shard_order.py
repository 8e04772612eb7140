"""The order of a shard's entries, by which outcomes name them: it is a part of the ledger's format.

| a file of the ledger | holds its rows                                      | the order of its entries |
|----------------------|-----------------------------------------------------|--------------------------|
| entries alone        | spread by the writer                                | that of its rows         |
| with columns         | as they were listed, which packs and encodes faster | ``spread`` of its rows   |
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from typing import Any, TypeVar

from fanout.facts import tuning
from fanout.ledger.rows import listed_row
from fanout.model.columns import FileColumns, Listed
from fanout.model.entry import Entry

Item = TypeVar("Item")


def shard_rows(listed: Iterable[Listed]) -> Iterator[Any]:
    """The rows of a shard's file."""
    held = list(listed)
    return map(listed_row, held if _has_columns(held) else spread(held))


def in_shard_order(listed: Iterable[Listed]) -> list[Entry]:
    """The entries of a shard's file."""
    held = list(listed)
    return spread(held) if _has_columns(held) else [one for one in held if isinstance(one, Entry)]


def _has_columns(listed: Iterable[Listed]) -> bool:
    return any(isinstance(one, FileColumns) for one in listed)


def spread(listed: Iterable[Listed]) -> list[Entry]:
    """The same entries taken round-robin over their directories, then the directories, level by level.

    A file makes the directories above it, while others are still being staged: each wait overlaps with other work, so
    that few directories are left to be made at the end. One waits for the one above it, and those of one level are
    made at once.

    Creations in one directory are serialised, those in several overlap: in walk order
    64 threads made 688 files/s on the simulated EFS, round-robin 3,772. So directories, too, are taken round-robin
    over those that they are made in.
    Over ``tuning.SPREAD_DIRECTORIES`` at a time, whose descriptors stay open meanwhile.
    """
    by_directory: defaultdict[str, list[Iterable[Entry]]] = defaultdict(list)
    made_last = []
    for one in listed:
        if isinstance(one, FileColumns):
            by_directory[one.directory[:-1]].append(one.entries())
        elif one.path.endswith("/"):
            made_last.append(one)
        else:
            by_directory[one.path.rpartition("/")[0]].append((one,))
    made_last.sort(key=lambda entry: entry.path.count("/"))
    levels = groupby(made_last, lambda entry: entry.path.count("/"))
    directories = (entry for _, level in levels for entry in _over_parents((one.path[:-1], one) for one in level))
    files = ((path, chain.from_iterable(held)) for path, held in by_directory.items())
    return [*_rounds(_over_parents(files)), *directories]


def _over_parents(found: Iterable[tuple[str, Item]]) -> Iterator[Item]:
    """Items of directories, by their paths, taken round-robin over the parents of these."""
    by_parent: defaultdict[str, list[Item]] = defaultdict(list)
    for path, item in found:
        by_parent[path.rpartition("/")[0]].append(item)
    return _rounds(by_parent.values())


def _rounds(groups: Iterable[Iterable[Item]]) -> Iterator[Item]:
    """Yield one item of each group in turn; the next group replaces one that ends."""
    waiting = (iter(group) for group in groups)
    turn = deque(islice(waiting, tuning.SPREAD_DIRECTORIES))
    while turn:
        group = turn.popleft()
        try:
            item = next(group)
        except StopIteration:
            if (following := next(waiting, None)) is not None:
                turn.append(following)
            continue
        yield item
        turn.append(group)
