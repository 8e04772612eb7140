"""Work on many items by threads that each have several items under way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count
from typing import Generic, TypeVar

from fanout.facts import tuning
from fanout.model.deadline import Deadline
from fanout.model.errors import TimeUp
from fanout.work.threads import done_by_threads

Item = TypeVar("Item")
Done = TypeVar("Done")
_OF_A_THREAD = 2
# Works on an item; yields whenever it would have to wait for an answer under way.
Operation = Callable[[Item], Generator[None, None, Done]]


def overlap_on(
    items: Iterable[tuple[int, Item]],
    work: Operation[Item, Done],
    most_threads: int,
    may_wait: Callable[[Item], bool],
    deadline: Deadline,
    unfinished: list[tuple[int, Item]],
    admit: Callable[[Item, bool], bool],
) -> Iterator[tuple[int, Done]]:
    """Works like ``parallel.work_on``, but a thread turns to other items while one waits.

    ``may_wait`` says whether an item may be left waiting; otherwise it is worked on to its end. Items begun
    before the time is up are finished. The more threads there are, the fewer items each of them begins.
    Each item under way has a connection, and opening one costs more than a small item: few are under way at first,
    and more with each that is done. Two of each thread always are: threads are added only while they wait, and the
    answer to one comes while the other is worked on.
    ``admit`` says whether an item may begin, at once or after a wait. A thread with items under way continues
    those instead of waiting, because an answer that no thread receives is broken off.
    """
    overlap = _Overlap(items, work, may_wait, deadline, unfinished, admit)
    yield from done_by_threads(overlap.run, most_threads, overlap.done, overlap.stop)


class _Overlap(Generic[Item, Done]):
    """The items of ``overlap_on``, as all its threads share them."""

    def __init__(
        self,
        items: Iterable[tuple[int, Item]],
        work: Operation[Item, Done],
        may_wait: Callable[[Item], bool],
        deadline: Deadline,
        unfinished: list[tuple[int, Item]],
        admit: Callable[[Item, bool], bool],
    ) -> None:
        self._queue, self._work, self._may_wait = iter(items), work, may_wait
        self._deadline, self._unfinished, self._admit = deadline, unfinished, admit
        self._lock = threading.Lock()
        self.stop = threading.Event()
        self.done: deque[tuple[int, Done]] = deque()
        self._threads: list[None] = []
        self._ended, self._known = count(1), 0

    def run(self) -> None:
        """The work of one thread."""
        waiting: deque[tuple[tuple[int, Item], Generator[None, None, Done]]] = deque()
        self._threads.append(None)
        try:
            item = self._take()
            while item is not None or waiting:
                waits = item is not None and self._may_wait(item[1])
                full = item is None or (
                    waits and len(waiting) >= under_way_of_a_thread(len(self._threads), self._known)
                )
                if full or (waiting and item is not None and not self._admit(item[1], False)):
                    first, steps = waiting.popleft()
                    if self._goes_on(first, steps):
                        waiting.append((first, steps))
                    continue
                if item is None or (not waiting and not self._admit(item[1], True)):
                    return
                steps = self._work(item[1])
                while self._goes_on(item, steps):
                    if waits:
                        waiting.append((item, steps))
                        break
                item = self._take()
        except BaseException:
            self.stop.set()
            raise
        finally:
            for _, steps in waiting:
                steps.close()

    def _take(self) -> tuple[int, Item] | None:
        with self._lock:
            return None if self.stop.is_set() or self._deadline.passed else next(self._queue, None)

    def _goes_on(self, item: tuple[int, Item], steps: Generator[None, None, Done]) -> bool:
        try:
            next(steps)
        except StopIteration as end:
            self.done.append((item[0], end.value))
        except TimeUp:
            self._unfinished.append(item)
        else:
            return True
        self._known = next(self._ended)
        return False


def under_way_of_a_thread(threads: int, done: int) -> int:
    """How many items each of so many threads may have under way when so many are done."""
    most = min(tuning.ENTRIES_UNDER_WAY, tuning.ENTRIES_UNDER_WAY_FIRST + done // tuning.ENTRIES_A_CONNECTION)
    return min(tuning.THREAD_ENTRIES_UNDER_WAY, max(_OF_A_THREAD, most // threads))
