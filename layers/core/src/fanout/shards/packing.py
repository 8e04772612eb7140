"""Shards: lists of entries of about the same predicted seconds."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, groupby, islice
from typing import Any, TypeVar

from fanout.facts import tuning
from fanout.ledger.rows import entry_row, file_rows
from fanout.model.columns import FileColumns, Listed
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
        self._held: list[Listed] = []
        self._entries = 0
        self._seconds = 0.0

    def add(self, entry: Entry) -> list[Listed] | None:
        """Take an entry; returns the shard that was full before it, if any."""
        seconds = self._rates.seconds(1, entry.size)
        full = None
        too_heavy = self._seconds + seconds > self._target_seconds
        if self._entries and (too_heavy or self._entries >= tuning.SHARD_ENTRIES):
            full = self.rest()
        self._held.append(entry)
        self._entries += 1
        self._seconds += seconds
        return full

    def add_files(self, files: FileColumns) -> Iterator[list[Listed]]:
        """Take files, as ``add`` takes each of them."""
        each, start = self._rates.seconds_of_each(files.sizes), 0
        while start < len(files):
            sums = list(accumulate(each[start:], initial=self._seconds))
            fit = min(bisect_right(sums, self._target_seconds, 1) - 1, tuning.SHARD_ENTRIES - self._entries)
            if fit <= 0 and self._entries:
                yield self.rest()
                continue
            fit = max(fit, 1)
            self._held.append(files.part(start, start + fit))
            self._entries += fit
            self._seconds = sums[fit]
            start += fit

    def rest(self) -> list[Listed]:
        """Return the last, partly filled shard; empty if the stream was."""
        rest, self._held, self._entries, self._seconds = self._held, [], 0, 0.0
        return rest


def pack(entries: Iterable[Entry], rates: Rates, target_seconds: float) -> Iterator[list[Listed]]:
    """All shards of a stream, the loose end too."""
    packer = Packer(rates, target_seconds)
    for entry in entries:
        full = packer.add(entry)
        if full is not None:
            yield full
    rest = packer.rest()
    if rest:
        yield rest


def spread(listed: Iterable[Listed]) -> list[Sequence[Any]]:
    """The rows of the same entries taken round-robin over their directories, directories first, level by level.

    A directory waits for the one above it, so that those of one level are made at once.

    Creations in one directory are serialised, those in several overlap: in walk order
    64 threads made 688 files/s on the simulated EFS, round-robin 3,772. So directories, too, are taken round-robin
    over those that they are made in.
    Over ``tuning.SPREAD_DIRECTORIES`` at a time, whose descriptors stay open meanwhile.
    """
    by_directory: defaultdict[str, list[Iterable[Sequence[Any]]]] = defaultdict(list)
    made_first = []
    for one in listed:
        if isinstance(one, FileColumns):
            by_directory[one.directory[:-1]].append(file_rows(one))
        elif one.path.endswith("/"):
            made_first.append(one)
        else:
            by_directory[one.path.rpartition("/")[0]].append((entry_row(one),))
    made_first.sort(key=lambda entry: entry.path.count("/"))
    levels = groupby(made_first, lambda entry: entry.path.count("/"))
    directories = (entry for _, level in levels for entry in _over_parents((one.path[:-1], one) for one in level))
    files = ((path, chain.from_iterable(rows)) for path, rows in by_directory.items())
    return [*map(entry_row, directories), *_rounds(_over_parents(files))]


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


def target_seconds(total_seconds: float, workers: int, shard_seconds: float) -> float:
    """The seconds a shard should take: all workers busy, no shard too small to be worth a start."""
    return min(shard_seconds, max(total_seconds / max(1, workers), tuning.SHARD_SECONDS_MIN))
