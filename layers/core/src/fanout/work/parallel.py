"""Work on many items with many operations in flight."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from fanout.model.deadline import Deadline
from fanout.model.errors import TimeUp
from fanout.work.threads import done_by_threads, pool_of_iterator

Item = TypeVar("Item")
Done = TypeVar("Done")


def always() -> bool:
    """Nothing is held back."""
    return True


def ahead(work: Callable[[Item], Done], items: Iterable[Item], threads: int) -> Iterator[tuple[Item, Done]]:
    """Each item with its result, in the items' order; at most ``threads`` items are worked on or held.

    An exception of ``work`` is raised when its item's turn comes.
    """
    queue: deque[tuple[Item, Future[Done]]] = deque()
    with pool_of_iterator(threads) as pool:
        for item in items:
            queue.append((item, pool.submit(work, item)))
            if len(queue) >= threads:
                first, future = queue.popleft()
                yield first, future.result()
        while queue:
            first, future = queue.popleft()
            yield first, future.result()


def side_by_side(work: Callable[[Item], Done], items: Iterable[Item], threads: int) -> list[Done]:
    """The results of all items, in the items' order; each error is raised once all have ended."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def work_on(
    items: Iterable[tuple[int, Item]],
    work: Callable[[Item], Done],
    most_threads: int,
    deadline: Deadline,
    unfinished: list[tuple[int, Item]],
    admit: Callable[[], bool] = always,
) -> Iterator[tuple[int, Done]]:
    """Work on items in their order, at most ``most_threads`` at a time; yields results by index as they come.

    Items that the time did not reach have no result; ``unfinished`` gets those that it cut off
    (``TimeUp``). ``admit`` waits before an item is begun, and says whether to; one that is not has no result.
    Any other exception of ``work`` ends the whole and is raised when the threads have stopped.
    """
    queue = iter(items)
    lock = threading.Lock()
    stop = threading.Event()
    done: deque[tuple[int, Done]] = deque()

    def take() -> tuple[int, Item] | None:
        with lock:
            return None if stop.is_set() or deadline.passed else next(queue, None)

    def run() -> None:
        try:
            while (item := take()) is not None and admit():
                try:
                    done.append((item[0], work(item[1])))
                except TimeUp:
                    unfinished.append(item)
        except BaseException:
            stop.set()
            raise

    yield from done_by_threads(run, most_threads, done, stop)
