"""Shards: lists of entries of about the same predicted seconds."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import islice

from fanout.facts import tuning
from fanout.model.entry import Entry
from fanout.model.shard import Rates


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
    64 threads made 688 files/s on the simulated EFS, round-robin 3,772.
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
    return made_first + list(_rounds(by_directory.values()))


def _rounds(groups: Iterable[list[Entry]]) -> Iterator[Entry]:
    """Yield one entry of each group in turn; the next group replaces one that ends."""
    waiting = (iter(group) for group in groups)
    turn = deque(islice(waiting, tuning.SPREAD_DIRECTORIES))
    while turn:
        group = turn.popleft()
        entry = next(group, None)
        if entry is not None:
            yield entry
            turn.append(group)
        elif (following := next(waiting, None)) is not None:
            turn.append(following)


def target_seconds(total_seconds: float, workers: int, shard_seconds: float) -> float:
    """The seconds a shard should take: all workers busy, no shard too small to be worth a start."""
    return min(shard_seconds, max(total_seconds / max(1, workers), tuning.SHARD_SECONDS_MIN))
