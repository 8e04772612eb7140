"""Shards: lists of entries of about the same predicted seconds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from fanout.facts import tuning
from fanout.model.columns import FileColumns, Listed
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


def pack(listed: Iterable[Listed], rates: Rates, target_seconds: float) -> Iterator[list[Listed]]:
    """All shards of a stream, the loose end too."""
    packer = Packer(rates, target_seconds)
    for one in listed:
        if isinstance(one, FileColumns):
            yield from packer.add_files(one)
        elif (full := packer.add(one)) is not None:
            yield full
    rest = packer.rest()
    if rest:
        yield rest


def target_seconds(total_seconds: float, workers: int, shard_seconds: float) -> float:
    """The seconds a shard should take: all workers busy, no shard too small to be worth a start."""
    return min(shard_seconds, max(total_seconds / max(1, workers), tuning.SHARD_SECONDS_MIN))
