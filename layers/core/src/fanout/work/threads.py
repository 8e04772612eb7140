"""How many threads a piece of work gets, and how many bytes all threads of a function hold."""

from __future__ import annotations

import resource
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

from fanout.facts import tuning

Done = TypeVar("Done")


class Threads:
    """Threads that do the same work, added as long as they mostly wait.

    If operations wait for a server, there are soon ``most`` of them. If they do not, as on
    a local disk, additional threads only wait for the interpreter's lock: 64 of them
    copy a quarter of the files a second that one does. Two figures tell the cases apart: how often the
    process gave up its processor voluntarily, and how busy it kept one.
    """

    def __init__(self, pool: ThreadPoolExecutor, work: Callable[[], None], most: int, done: Sized) -> None:
        """``done`` holds what was done since the last review."""
        self._pool, self._work, self._most, self._done = pool, work, most, done
        self._futures: list[Future[None]] = [pool.submit(work)]
        self._usage = _usage()

    def review(self) -> bool:
        """Wait a while, add threads if that helps; whether any is at work. Raises what one of them raised."""
        growing = len(self._futures) < self._most
        pause = tuning.THREADS_REVIEW_SECONDS if growing else tuning.OUTCOMES_EVERY_SECONDS
        if not wait(self._futures, pause).not_done:
            for future in self._futures:
                future.result()
            return False
        if growing:
            self._grow()
        return True

    def _grow(self) -> None:
        now = _usage()
        busy = (now[1] - self._usage[1]) / max(now[0] - self._usage[0], 1e-6)
        waits = now[2] - self._usage[2] - 1  # one is this thread's own
        self._usage = now
        if waits >= max(1, len(self._done) // 2) and busy < tuning.PROCESSOR_BUSY:
            more = min(len(self._futures) * 3, self._most - len(self._futures))
            self._futures += [self._pool.submit(self._work) for _ in range(more)]


@contextmanager
def pool_of_iterator(threads: int, name: str = "") -> Iterator[ThreadPoolExecutor]:
    """A pool whose lifetime is that of a generator.

    A generator that nobody reads to its end is closed by the garbage collector, at any line of any thread: also
    where that thread holds a lock that joining a thread needs. So a generator that is closed waits for no thread.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
    try:
        yield pool
    except GeneratorExit:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def done_by_threads(work: Callable[[], None], most: int, done: deque[Done], stop: threading.Event) -> Iterator[Done]:
    """Yield the items that up to ``most`` threads append to ``done``, until all have ended; raises their errors.

    ``stop`` is set where nobody reads on: then ``work`` begins nothing more.
    """
    with pool_of_iterator(most) as pool:
        try:
            running = Threads(pool, work, most, done)
            while running.review():
                for _ in range(len(done)):
                    yield done.popleft()
        except GeneratorExit:
            stop.set()
            raise
    yield from done


def _usage() -> tuple[float, float, int]:
    """The time, the processor time taken, and how often the process waited."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.monotonic(), used.ru_utime + used.ru_stime, used.ru_nvcsw


class ByteBudget:
    """Bounds the bytes of blocks that all threads hold at once.

    Blocks up to ``tuning.BLOCK_BYTES_FREE`` need not take: all threads together hold few bytes
    of them, and taking costs more than copying them.
    """

    def __init__(self, total_bytes: int) -> None:
        self._free = total_bytes
        self._total = total_bytes
        self._changed = threading.Condition()

    @contextmanager
    def take(self, wanted_bytes: int) -> Iterator[None]:
        """Wait until so many bytes are free, or all of them if fewer exist."""
        taken = min(wanted_bytes, self._total)
        with self._changed:
            while self._free < taken:
                self._changed.wait()
            self._free -= taken
        try:
            yield
        finally:
            with self._changed:
                self._free += taken
                self._changed.notify_all()
