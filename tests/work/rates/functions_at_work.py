"""Functions that share a rate, in simulated time: each a throttle of its own over one ledger, none with a thread."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from fanout.ledger.ledger import Ledger
from fanout.model.deadline import NEVER, Deadline
from fanout.model.errors import TimeUp
from fanout.work.rates.run_limits import LIMITS, RunLimits
from fanout.work.rates.throttle import Throttle
from tests.support.memory_store import MemoryStore


class Work(Protocol):
    """How many functions work at once, how long each, and how long until the next one; sizes in bytes."""

    crew: int
    seconds: tuple[float, float]
    gap: tuple[float, float]
    rate: float
    block: int
    file_bytes: int


class _Waits(Exception):
    """A function would sleep; raised so that another one can go on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


@dataclass
class _Function:
    throttle: Throttle
    ends: float
    left_of_file: int = 0
    taken: list[int] = field(default_factory=list)


def simulate(work: Work, chance: random.Random, seconds: int) -> list[float]:
    """Bytes that all functions moved, second by second. Moving takes no time, so that only the limit holds them."""
    now = [0.0]
    ledger = Ledger(MemoryStore(), "run-1")
    ledger.write(LIMITS, RunLimits(bytes_per_second=work.rate))
    used = [0.0] * (seconds + 1)
    order = itertools.count()
    queue: list[tuple[float, int, Callable[[], float | None]]] = []

    def sleep(wait: float) -> None:
        raise _Waits(wait)

    def begin() -> None:
        function = _Function(
            Throttle("CopyShard", ledger, f"n{next(order)}", lambda: now[0], sleep),
            now[0] + chance.uniform(*work.seconds),
        )
        heapq.heappush(queue, (now[0], next(order), lambda: step(function)))

    def step(function: _Function) -> float | None:
        """Move a block; returns when to go on, or ``None`` at the end."""
        if now[0] >= function.ends:
            function.throttle.end()
            heapq.heappush(queue, (now[0] + chance.uniform(*work.gap), next(order), lambda: begin()))
            return None
        try:
            if not function.left_of_file:
                function.throttle.admit(NEVER)
                function.left_of_file = work.file_bytes
            size = min(work.block, function.left_of_file)
            function.throttle.read(size, Deadline(lambda: now[0] >= function.ends, 0))
        except _Waits as waits:
            return now[0] + max(waits.seconds, 1e-3)
        except TimeUp:
            return function.ends
        function.left_of_file -= size
        used[int(now[0])] += size
        return now[0]

    for _ in range(work.crew):
        heapq.heappush(queue, (chance.uniform(0, 3 * (work.gap[1] or 0)), next(order), lambda: begin()))
    while queue and queue[0][0] < seconds:
        now[0], _, go_on = heapq.heappop(queue)
        following = go_on()
        if following is not None:
            heapq.heappush(queue, (following, next(order), go_on))
    return used
