"""Directories that are read before a listing comes to them, where the file system lets it wait for each.

One directory after the other, a listing over a network waits most of its time: some milliseconds for each, whatever
it holds. Threads read the next ones meanwhile. On a disk that answers at once they would only cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from fanout.adapters.posix.stats import Waited
from fanout.domain import limits
from fanout.domain.file_columns import Listed

Read = Callable[[str], list[Listed] | None]
# Readings in a row that waited before others are begun ahead: one may have met what a disk had not in memory.
_IN_A_ROW = 2


class ReadAhead:
    """Calls ``read`` for the directories that come next, at most ``limits.DIRECTORIES_AHEAD`` before their turn.

    ``read`` returns what a directory holds, in order, or ``None`` where it is to be read in its turn: if it is large,
    which bounds memory, or can not be read, so that errors come up at their place.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._threads: ThreadPoolExecutor | None = None
        self._waited = 0
        # The next one is the last.
        self._to_read: list[str] = []
        self._under_way: dict[str, Future[list[Listed] | None]] = {}

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Around reading a directory in its turn: tells whether that waits."""
        waited = Waited()
        yield
        self._waited = self._waited + 1 if waited.seconds > limits.DIRECTORY_SLOW_SECONDS else 0
        if self._waited >= _IN_A_ROW and self._threads is None:
            self._threads = ThreadPoolExecutor(limits.DIRECTORIES_AHEAD, thread_name_prefix="read-ahead")

    def found(self, directories: Sequence[str]) -> None:
        """Take directories that the one in turn holds: the listing comes to all of them, in this order, next."""
        self._to_read.extend(reversed(directories))
        self._begin()

    def take(self, directory: str) -> list[Listed] | None:
        """What a directory holds whose turn it is, or ``None`` if it was not read."""
        reading = self._under_way.pop(directory, None)
        if reading is None and self._to_read and self._to_read[-1] == directory:
            self._to_read.pop()
        self._begin()
        return reading.result() if reading is not None else None

    def _begin(self) -> None:
        while self._threads is not None and self._to_read and len(self._under_way) < limits.DIRECTORIES_AHEAD:
            directory = self._to_read.pop()
            self._under_way[directory] = self._threads.submit(self._read, directory)

    def close(self) -> None:
        """End the threads; what was not taken is dropped."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
