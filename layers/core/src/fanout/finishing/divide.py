"""How finishing is divided among functions: big files and links first, then directories, then the closed ones.

| round    | holds                                               | why then                                    |
|----------|-----------------------------------------------------|---------------------------------------------|
| 0        | big files, links                                    | both move the times of their directories    |
| 1        | directories that their owner can pass, in any order | they close no way                           |
| 2 and on | closed directories, deepest first                   | a closed one ends the way to those below it |

A round without anything in it is left out. A round ends before the next one begins.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from msgspec import Struct

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.model.path_rules import PlainName, PlainNameOrNone
from fanout.model.shard import Shard
from fanout.shards.packing import target_seconds

T = TypeVar("T")
# Assumed of a file of directories whose name does not tell.
ROWS_UNKNOWN = 1_000


class LinkRange(Struct, frozen=True):
    """Rows of a shard of links, and the id of the shard that copies their files; empty where none is copied."""

    shard: Shard
    copied_by: PlainNameOrNone
    first: int
    end: int


class MadeFile(Struct, frozen=True):
    """A file of the attributes of directories, with its rows if that is known."""

    key: str
    rows: int | None


class ClosedFile(Struct, frozen=True):
    """A file of directories of one depth that their owner cannot pass once they have their modes."""

    key: str
    depth: int
    rows: int


class FinishShard(Struct, frozen=True, omit_defaults=True):
    """The work of one FinishShard; ``directories`` are files in groups, of which a later file has newer attributes.

    ``page`` is the page of its round that holds it.
    """

    id: PlainName
    big_files: tuple[str, ...] = ()
    links: tuple[LinkRange, ...] = ()
    directories: tuple[tuple[MadeFile, ...], ...] = ()
    closed: tuple[ClosedFile, ...] = ()
    page: int = 0


class FinishItem(Struct, frozen=True):
    """An item of what FinishShards reads."""

    shard: FinishShard


finish_round_key = ObjectKind(
    keys.FINISH_ROUNDS + "{number:04d}.json", list[FinishItem], by=keys.FINISHERS, area="finishing/*"
)


class ToFinish(Struct, frozen=True):
    """All that a run leaves to finish: keys of big files, links, files of directories with their rows."""

    big_files: list[str]
    links: list[LinkRange]
    directories: dict[str, int | None]

    @property
    def seconds(self) -> float:
        """Predicted seconds of one function for all of it."""
        names = sum(link.end - link.first for link in self.links)
        rows = sum(map(_rows, self.directories.values()))
        return _seconds_of_files(len(self.big_files), names) + rows / tuning.DIRECTORIES_PER_SECOND


def divide_files(to_finish: ToFinish, functions: int) -> list[FinishShard]:
    """The shards of big files and links, which are the first round."""
    names = sum(link.end - link.first for link in to_finish.links)
    target = _target(_seconds_of_files(len(to_finish.big_files), names), functions)
    parts: list[_WorkItem[str | LinkRange]] = [
        _WorkItem(tuning.BIG_FILE_SECONDS, 1, key) for key in to_finish.big_files
    ]
    for link in to_finish.links:
        rows = max(1, math.ceil(target * tuning.LINKS_PER_SECOND))
        for first in range(link.first, link.end, rows):
            end = min(first + rows, link.end)
            one = LinkRange(link.shard, link.copied_by, first, end)
            parts.append(_WorkItem((end - first) / tuning.LINKS_PER_SECOND, 1, one))
    shards = []
    for index, dealt in enumerate(_dealt(parts, target)):
        big_files = tuple(one for one in dealt if isinstance(one, str))
        links = tuple(one for one in dealt if isinstance(one, LinkRange))
        shards.append(FinishShard(_id(0, index), big_files, links))
    return shards


def divide_directories(number: int, files: Mapping[str, int | None], functions: int) -> list[FinishShard]:
    """The shards of directories.

    A copy that was killed may have left a file whose directories the next attempt wrote again, perhaps with newer
    attributes. So the files of such a shard stay together: those that count come last.
    """
    unproven = {shard for key, rows in files.items() if rows is None and (shard := keys.copied_directories(key))}
    groups: defaultdict[str, list[MadeFile]] = defaultdict(list)
    for key, rows in sorted(files.items(), key=lambda item: (item[1] is not None, item[0])):
        shard = keys.copied_directories(key)
        groups[shard if shard in unproven and shard else key].append(MadeFile(key, rows))
    parts = [
        _WorkItem(sum(_rows(one.rows) for one in group) / tuning.DIRECTORIES_PER_SECOND, len(group), tuple(group))
        for group in groups.values()
    ]
    dealt = _dealt(parts, _target(sum(part.seconds for part in parts), functions))
    return [FinishShard(_id(number, index), directories=tuple(one)) for index, one in enumerate(dealt)]


def divide_closed(number: int, files: Iterable[ClosedFile], functions: int) -> list[FinishShard]:
    """The shards of the next round of closed directories: as many depths, deepest first, as its order lets in.

    One function sets several depths one after the other. A depth that is more than one function's work is divided, and
    then nothing above it is in the round.
    """
    by_depth: defaultdict[int, list[ClosedFile]] = defaultdict(list)
    for file in files:
        by_depth[file.depth].append(file)
    held: list[ClosedFile] = []
    seconds = 0.0
    for depth in sorted(by_depth, reverse=True):
        level = sorted(by_depth[depth], key=lambda one: one.key)
        more = sum(one.rows for one in level) / tuning.DIRECTORIES_PER_SECOND
        fits = seconds + more <= tuning.FINISH_ALONE_SECONDS and len(held) + len(level) <= tuning.FINISH_FILES
        if held and not fits:
            break
        held += level
        seconds += more
        if not fits:
            parts = [_WorkItem(one.rows / tuning.DIRECTORIES_PER_SECOND, 1, one) for one in level]
            dealt = _dealt(parts, _target(seconds, functions))
            return [FinishShard(_id(number, index), closed=tuple(one)) for index, one in enumerate(dealt)]
    return [FinishShard(_id(number, 0), closed=tuple(held))] if held else []


class _WorkItem(Struct, Generic[T], frozen=True):
    seconds: float
    files: int
    what: T


def _dealt(parts: Sequence[_WorkItem[T]], target: float) -> list[list[T]]:
    """The parts, longest first, each to the shard with the least; no shard gets much over ``tuning.FINISH_FILES``."""
    seconds, files = sum(part.seconds for part in parts), sum(part.files for part in parts)
    count = min(len(parts), max(math.ceil(seconds / target), math.ceil(files / tuning.FINISH_FILES)))
    hands: list[list[T]] = [[] for _ in range(count)]
    loads = [(0.0, 0, index) for index in range(count)]
    heapify(loads)
    for part in sorted(parts, key=lambda one: -one.seconds):
        if not loads:
            loads = [(0.0, 0, len(hands))]
            hands.append([])
        load, held, index = heappop(loads)
        hands[index].append(part.what)
        if held + part.files < tuning.FINISH_FILES:
            heappush(loads, (load + part.seconds, held + part.files, index))
    return hands


def _target(seconds: float, functions: int) -> float:
    return target_seconds(seconds, functions, tuning.FINISH_SECONDS)


def _seconds_of_files(big_files: int, names: int) -> float:
    return big_files * tuning.BIG_FILE_SECONDS + names / tuning.LINKS_PER_SECOND


def _rows(rows: int | None) -> int:
    return ROWS_UNKNOWN if rows is None else rows


def _id(number: int, index: int) -> str:
    return f"{number:04d}-{index:04d}"
