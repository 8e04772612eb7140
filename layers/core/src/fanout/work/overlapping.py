"""Work on many items by threads that each have several items under way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import count
from typing import TypeVar

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
    queue = iter(items)
    lock = threading.Lock()
    stop = threading.Event()
    done: deque[tuple[int, Done]] = deque()
    at_work: list[None] = []
    ended, known = count(1), 0

    def take() -> tuple[int, Item] | None:
        with lock:
            return None if stop.is_set() or deadline.passed else next(queue, None)

    def goes_on(item: tuple[int, Item], steps: Generator[None, None, Done]) -> bool:
        nonlocal known
        try:
            next(steps)
        except StopIteration as end:
            done.append((item[0], end.value))
        except TimeUp:
            unfinished.append(item)
        else:
            return True
        known = next(ended)
        return False

    def run() -> None:
        waiting: deque[tuple[tuple[int, Item], Generator[None, None, Done]]] = deque()
        at_work.append(None)
        try:
            item = take()
            while item is not None or waiting:
                waits = item is not None and may_wait(item[1])
                full = item is None or (waits and len(waiting) >= under_way_of_a_thread(len(at_work), known))
                if full or (waiting and item is not None and not admit(item[1], False)):
                    first, steps = waiting.popleft()
                    if goes_on(first, steps):
                        waiting.append((first, steps))
                    continue
                if item is None or (not waiting and not admit(item[1], True)):
                    return
                steps = work(item[1])
                while goes_on(item, steps):
                    if waits:
                        waiting.append((item, steps))
                        break
                item = take()
        except BaseException:
            stop.set()
            raise
        finally:
            for _, steps in waiting:
                steps.close()

    yield from done_by_threads(run, most_threads, done, stop)


def under_way_of_a_thread(threads: int, done: int) -> int:
    """How many items each of so many threads may have under way when so many are done."""
    most = min(tuning.ENTRIES_UNDER_WAY, tuning.ENTRIES_UNDER_WAY_FIRST + done // tuning.ENTRIES_A_CONNECTION)
    return min(tuning.THREAD_ENTRIES_UNDER_WAY, max(_OF_A_THREAD, most // threads))
