"""Decides which names of a hard-linked file are copied, linked to a copy, or right already.

| names of one inode              | destination                                | becomes                               |
|---------------------------------|--------------------------------------------|---------------------------------------|
| any, to a store without links   | each by itself, as any other entry         | unchanged, or copied under each name  |
| one in the request              | by itself, as any other entry              | unchanged, or copied                  |
| more                            | all unchanged, and names of one file there | unchanged, all of them                |
| more                            | anything else                              | first copied, the others linked to it |
| more than ``aws.HARD_LINKS`` | as above, for every so many names          | that many files                       |

"First" is by the order of the paths' bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from fanout.facts import aws
from fanout.model.entry import Entry
from fanout.model.shard import Name


class Placed(Struct):
    """The outcome for the names of one file. ``links`` pairs each further name with the path of its first.

    ``rewritten`` are names that looked unchanged, and are copied or linked again because another name is.
    """

    copies: list[Entry] = field(default_factory=list)
    links: list[tuple[Entry, str]] = field(default_factory=list)
    unchanged: list[Entry] = field(default_factory=list)
    rewritten: list[Entry] = field(default_factory=list)


def files_of(names: Iterable[Name], *, linked: bool) -> Iterator[list[Name]]:
    """The names by file, each file's in the order of their bytes; ``linked`` cuts at ``aws.HARD_LINKS``."""
    by_inode: defaultdict[str, list[Name]] = defaultdict(list)
    for name in names:
        by_inode[name.entry.inode].append(name)
    for inode in sorted(by_inode):
        ordered = sorted(by_inode[inode], key=lambda name: name.entry.sort_key)
        step = aws.HARD_LINKS if linked else len(ordered)
        for start in range(0, len(ordered), step):
            yield ordered[start : start + step]


def place(names: list[Name], *, linked: bool) -> Placed:
    """Decide the names of one file; the module's table is the contract."""
    there = {name.inode_there for name in names}
    right = all(name.unchanged for name in names) and len(there) == 1 and "" not in there
    if linked and len(names) > 1 and not right:
        first = names[0].entry
        rewritten = [name.entry for name in names if name.looks_linked]
        return Placed([first], [(name.entry, first.path) for name in names[1:]], rewritten=rewritten)
    return Placed(
        copies=[name.entry for name in names if not name.unchanged],
        unchanged=[name.entry for name in names if name.unchanged],
    )
