"""The allotment of one function of a probe, and its use by threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from fanout.ports.clock import Clock
from fanout.probe.samples import Timed
from fanout.work.progress import FILES, moved


class Allowance:
    """Bytes that may be moved; no thread moves any that it did not take."""

    def __init__(self, size: int) -> None:
        self._left = self._size = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Take so many bytes, all or none; whether they were left."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    @property
    def left(self) -> int:
        """Bytes that no thread took."""
        return self._left

    @property
    def used(self) -> int:
        return self._size - self._left


class Effort:
    """Bytes and time of one function. ``rate`` is what it moved last, bytes a second."""

    def __init__(self, clock: Clock, allowance: Allowance, ends_at: float) -> None:
        self.clock = clock
        self.allowance = allowance
        self.ends_at = ends_at
        self.rate = 0.0
        self.stopped = False

    @property
    def left_seconds(self) -> float:
        """Until the time is up."""
        return max(0.0, self.ends_at - self.clock.now())

    @property
    def is_over(self) -> bool:
        """Whether the time is up, or a thread failed: nothing is begun any more."""
        return self.stopped or self.clock.now() >= self.ends_at


def at_once(threads: int, work: Callable[[int], Iterator[Timed]], effort: Effort) -> list[Timed]:
    """Let so many threads work; returns what they recorded until all of them ended, or the time is up.

    A thread that a file system does not answer is left behind: it begins nothing new, and what it took counts.
    Raises what a thread raises.
    """
    records: list[Timed] = []
    start = threading.Barrier(threads)

    def run(thread: int) -> None:
        start.wait()
        for record in work(thread):
            records.append(record)
            moved(FILES)

    pool = ThreadPoolExecutor(threads)
    try:
        running = [pool.submit(run, thread) for thread in range(threads)]
        done, _ = wait(running, effort.left_seconds, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    except BaseException:
        effort.stopped = True
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return list(records)
