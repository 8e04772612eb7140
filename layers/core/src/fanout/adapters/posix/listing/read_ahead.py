"""Directories that are read before a listing comes to them, where the file system lets it wait for each.

A listing over a network that reads one directory after the other mostly waits: some milliseconds for each. Threads
read the next ones meanwhile. On a disk that answers at once they would only cost.
"""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from heapq import heappop, heappush
from queue import SimpleQueue

from fanout.adapters.posix.listing.stats import WaitedSeconds
from fanout.facts import tuning
from fanout.model.columns import Listed
from fanout.model.entry import Entry

# The content of a directory, and the directories in it that must be read.
ListedBelow = tuple[list[Listed], Iterable[str]]
Read = Callable[[str], ListedBelow | None]
# Readings in a row that waited before others are begun ahead: one may have met what a disk had not in memory.
_IN_A_ROW = 2


class ReadAhead:
    """Calls ``read`` for the directories that come next, the first ones first, also those below what it read.

    ``read`` returns the content of a directory, in order, or ``None`` to read it in its turn: if it is large, which
    bounds memory, or unreadable, so that errors appear at their place. At most ``tuning.DIRECTORIES_AHEAD`` are under
    way. Contents wait for their turn: up to ``tuning.DIRECTORIES_HELD`` directories or ``tuning.ENTRIES_HELD``
    entries; then no other directory is begun. The last one makes room for one that comes sooner, and is read again.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._threads: ThreadPoolExecutor | None = None
        self._waited = 0
        # By the bytes of the path, which is the order of a listing.
        self._next: list[tuple[bytes, str]] = []
        self._under_way: dict[str, Future[ListedBelow | None]] = {}
        self._ended: SimpleQueue[str] = SimpleQueue()
        self._held: dict[str, list[Listed] | None] = {}
        self._held_order: list[tuple[bytes, str]] = []
        self._entries = 0
        # In one of the three above.
        self._known: set[str] = set()

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Around reading a directory in its turn: tells whether that waits."""
        waited = WaitedSeconds()
        yield
        self._waited = self._waited + 1 if waited.seconds > tuning.DIRECTORY_SLOW_SECONDS else 0
        if self._waited >= _IN_A_ROW and self._threads is None:
            self._threads = ThreadPoolExecutor(tuning.DIRECTORIES_AHEAD, thread_name_prefix="read-ahead")

    def found(self, directories: Iterable[str]) -> None:
        """Take directories that the one in turn holds, which the listing will come to."""
        self._add(directories)
        self._begin()

    def take(self, directory: str) -> list[Listed] | None:
        """The content of the directory whose turn it is, or ``None`` if it was not read; those below it are begun."""
        self._known.discard(directory)
        while self._next and self._next[0][0] <= os.fsencode(directory):
            heappop(self._next)
        if directory in self._under_way:
            self._hold(directory)
        listed = self._drop(directory) if directory in self._held else None
        self._begin()
        return listed

    def _add(self, directories: Iterable[str]) -> None:
        for directory in directories:
            if directory not in self._known:
                self._known.add(directory)
                heappush(self._next, (os.fsencode(directory), directory))

    def _hold(self, directory: str) -> None:
        """Wait until a directory is read, hold it until its turn, and go on below it."""
        listed, below = self._under_way.pop(directory).result() or (None, ())
        self._held[directory] = listed
        insort(self._held_order, (os.fsencode(directory), directory))
        self._entries += _size(listed)
        self._add(below)

    def _drop(self, directory: str) -> list[Listed] | None:
        listed = self._held.pop(directory)
        del self._held_order[bisect_left(self._held_order, (os.fsencode(directory), directory))]
        self._entries -= _size(listed)
        return listed

    def _begin(self) -> None:
        if self._threads is None:
            return
        while not self._ended.empty():
            ended = self._ended.get()
            if ended in self._under_way:
                self._hold(ended)
        while self._next and len(self._under_way) < tuning.DIRECTORIES_AHEAD and self._has_room():
            directory = heappop(self._next)[1]
            reading = self._under_way[directory] = self._threads.submit(self._read, directory)
            reading.add_done_callback(partial(_tell, self._ended, directory))

    def _has_room(self) -> bool:
        """Whether the next directory may be read: there is room, or it comes soon and the last one held makes some."""
        if len(self._held) < tuning.DIRECTORIES_HELD and self._entries < tuning.ENTRIES_HELD:
            return True
        if not self._held or bisect_left(self._held_order, self._next[0]) >= min(
            tuning.DIRECTORIES_AHEAD, len(self._held)
        ):
            return False
        last = self._held_order[-1]
        self._drop(last[1])
        heappush(self._next, last)
        return True

    def close(self) -> None:
        """End the threads; what was not taken is dropped."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)


def _tell(ended: SimpleQueue[str], directory: str, _: Future[ListedBelow | None]) -> None:
    ended.put(directory)


def _size(listed: list[Listed] | None) -> int:
    return sum(1 if isinstance(one, Entry) else len(one) for one in listed or ())
