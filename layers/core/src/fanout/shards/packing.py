"""Shards: lists of entries of about the same predicted seconds."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import TypeVar

from fanout.facts import tuning
from fanout.model.entry import Entry
from fanout.model.shard import Rates

Item = TypeVar("Item")


class Packer:
    """Cuts a stream of entries into shards as they arrive; holds one shard.

    A shard is full when the next entry would take it over ``target_seconds`` or over
    ``tuning.SHARD_ENTRIES``; an entry heavier than that is a shard of its own.
    """

    def __init__(self, rates: Rates, target_seconds: float) -> None:
        self._rates = rates
        self._target_seconds = target_seconds
        self._entries: list[Entry] = []
        self._seconds = 0.0

    def add(self, entry: Entry) -> list[Entry] | None:
        """Take an entry; returns the shard that was full before it, if any."""
        seconds = self._rates.seconds(1, entry.size)
        full = None
        too_heavy = self._seconds + seconds > self._target_seconds
        if self._entries and (too_heavy or len(self._entries) >= tuning.SHARD_ENTRIES):
            full = self.rest()
        self._entries.append(entry)
        self._seconds += seconds
        return full

    def rest(self) -> list[Entry]:
        """Return the last, partly filled shard; empty if the stream was."""
        rest, self._entries, self._seconds = self._entries, [], 0.0
        return rest


def pack(entries: Iterable[Entry], rates: Rates, target_seconds: float) -> Iterator[list[Entry]]:
    """All shards of a stream, the loose end too."""
    packer = Packer(rates, target_seconds)
    for entry in entries:
        full = packer.add(entry)
        if full is not None:
            yield full
    rest = packer.rest()
    if rest:
        yield rest


def spread(entries: Iterable[Entry]) -> list[Entry]:
    """The same entries taken round-robin over their directories, directories first, level by level.

    A directory waits for the one above it, so that those of one level are made at once.

    Creations in one directory are serialised, those in several overlap: in walk order
    64 threads made 688 files/s on the simulated EFS, round-robin 3,772. So directories, too, are taken round-robin
    over those that they are made in.
    Over ``tuning.SPREAD_DIRECTORIES`` at a time, whose descriptors stay open meanwhile.
    """
    by_directory: defaultdict[str, list[Entry]] = defaultdict(list)
    made_first = []
    for entry in entries:
        if entry.path.endswith("/"):
            made_first.append(entry)
        else:
            by_directory[entry.path.rpartition("/")[0]].append(entry)
    made_first.sort(key=lambda entry: entry.path.count("/"))
    levels = groupby(made_first, lambda entry: entry.path.count("/"))
    directories = (entry for _, level in levels for entry in _over_parents((one.path[:-1], one) for one in level))
    return [*directories, *_rounds(_over_parents(by_directory.items()))]


def _over_parents(found: Iterable[tuple[str, Item]]) -> Iterator[Item]:
    """Items of directories, by their paths, taken round-robin over the parents of these."""
    by_parent: defaultdict[str, list[Item]] = defaultdict(list)
    for path, item in found:
        by_parent[path.rpartition("/")[0]].append(item)
    return _rounds(by_parent.values())


def _rounds(groups: Iterable[list[Item]]) -> Iterator[Item]:
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


def target_seconds(total_seconds: float, workers: int, shard_seconds: float) -> float:
    """The seconds a shard should take: all workers busy, no shard too small to be worth a start."""
    return min(shard_seconds, max(total_seconds / max(1, workers), tuning.SHARD_SECONDS_MIN))
