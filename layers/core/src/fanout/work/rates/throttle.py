"""Keeps a function to its share of the rates of its run, which may change while it works."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import takewhile
from math import floor, inf

from fanout.facts import aws, tuning
from fanout.ledger.ledger import Ledger
from fanout.model.errors import FanoutError
from fanout.ports.limiter import TaskLimiter
from fanout.work.progress import PAUSES, moved
from fanout.work.rates import run_limits
from fanout.work.rates.in_force import limits_in_force, paced_in_force
from fanout.work.rates.shares import Bucket, Presence

# Chosen: a function polls limits and other functions soon after its begin, when others begin too. It polls less often
# where all together would exceed this many polls a second.
FIRST_LOOKS_SECONDS = (0.5, 1.0, 2.0)
LOOKS_PER_SECOND = 50.0
# Chosen: for so long a function that hears late of another one makes up for it.
HINDSIGHT_SECONDS = 30.0
PAUSE_SECONDS, LEAST_PAUSE_SECONDS = 0.1, 0.005
LEAST_AMOUNT = 1e-3


class Throttle(TaskLimiter):
    """The limits of a run in one function, which may take ``seconds``. No lock is held while it asks the ledger.

    ``problem`` is why a look was not possible or found what is not valid, empty while none was.
    """

    def __init__(
        self,
        phase: str,
        ledger: Ledger,
        name: str,
        now: Callable[[], float],
        sleep: Callable[[float], None],
        seconds: float = aws.FUNCTION_SECONDS,
    ):
        self._seconds = seconds
        self._phase, self._ledger, self._now, self._sleep = phase, ledger, now, sleep
        self._me = Presence(floor(now() * 1000) / 1000, name)
        self._lock = threading.Lock()
        self._readers: dict[object, int] = {}  # bytes that are waited for, in the order of the questions
        self._buckets: dict[str, Bucket] = {}
        self._wanted: run_limits.RunLimits | None = None  # as limits.json had them when it last was valid
        self._rate = run_limits.PacedRate()
        self._look_at, self._looks, self._looking = -inf, 0, False
        self._noted_in: int | None = None
        self._cut_off = False
        self.problem = ""

    def ask(self, size: int, ticket: object) -> float:
        cost = run_limits.Cost(bytes=size)
        if self._idle() or not any(run_limits.amount(name, cost, self._rate) for name in [*self._buckets]):
            return 0.0
        with self._lock:
            self._readers.setdefault(ticket, size)
            return self._take(cost, ticket)

    def leave(self, ticket: object, *, cut_off: bool) -> None:
        self._cut_off = self._cut_off or cut_off
        if self._readers:  # else the ticket never had to wait
            with self._lock:
                self._readers.pop(ticket, None)

    def ask_to_begin(self, files: int, size: int) -> float:
        if self._idle():
            return 0.0
        with self._lock:
            return self._take(run_limits.Cost(bytes=size, files=files), None)

    def sleep(self, seconds: float) -> None:
        self._sleep(seconds)
        moved(PAUSES)

    def holds(self) -> bool:
        return not self._idle()

    def cut_off(self, size: int) -> bool:
        """See ``TaskLimiter``. If the whole rate cannot move it in a function's time, no other task can either."""
        seconds = self._seconds - tuning.DEADLINE_RESERVE_SECONDS
        with self._lock:
            costs = [
                (one.rate, run_limits.amount(name, run_limits.Cost(size, 1), self._rate))
                for name, one in self._buckets.items()
            ]
        return self._cut_off and all(cost <= rate * seconds for rate, cost in costs)

    def end(self) -> None:
        """Give this function's share of the rates back to the others."""
        if self._noted_in is not None:
            ended = Presence(self._me.began, self._me.name, self._now())
            with suppress(FanoutError):  # then the others hear of it when the last note expires
                self._ledger.mark(run_limits.note_key(self._phase, run_limits.minute_of(ended.ended), ended))

    def _idle(self) -> bool:
        """Whether there is no limit; polls first if it is time to. No operation starts before the first poll."""
        if self._now() >= self._look_at:
            self._look()
        while not self._looks:
            self._sleep(LEAST_PAUSE_SECONDS)
        return not self._buckets

    def _take(self, cost: run_limits.Cost, ticket: object) -> float:
        """Take ``cost`` now if it is free after what earlier callers wait for; else return the seconds to wait.

        A function without any share is not to begin what it could not go on with: hence ``LEAST_AMOUNT``.
        """
        now = self._now()
        first = takewhile(lambda one: one[0] != ticket, self._readers.items())
        whole = run_limits.Cost(cost.bytes + sum(size for _, size in first), cost.files)
        needed = {name: max(run_limits.amount(name, whole, self._rate), LEAST_AMOUNT) for name in self._buckets}
        wait = max((one.seconds_until(needed[name], now) for name, one in self._buckets.items()), default=0.0)
        if wait > 0:
            return min(PAUSE_SECONDS, max(LEAST_PAUSE_SECONDS, wait))
        for name, bucket in self._buckets.items():
            bucket.take(run_limits.amount(name, cost, self._rate), now)
        self._readers.pop(ticket, None)
        return 0.0

    def _look(self) -> None:
        """Read the limits and, where there are any, note this function and count the others; one thread at a time."""
        with self._lock:
            if self._looking or self._now() < self._look_at:
                return
            self._looking = True
        present: list[Presence] = []
        try:
            wanted, rate = self._limits()
            rates = run_limits.buckets(wanted, rate)
            present = self._present() if rates else []
            with self._lock:
                self._wanted = wanted
                self._set(rates, rate, present)
        except FanoutError as error:  # the known limits stay, and the next poll retries
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            with self._lock:
                self._looking = False
                self._look_at = self._now() + self._next_look(len(present))

    def _next_look(self, present: int) -> float:
        self._looks += 1
        if not self._buckets:
            return run_limits.IDLE_LOOK_SECONDS
        soon = (
            FIRST_LOOKS_SECONDS[self._looks - 1] if self._looks <= len(FIRST_LOOKS_SECONDS) else run_limits.LOOK_SECONDS
        )
        return max(soon, present / LOOKS_PER_SECOND)

    def _set(self, rates: dict[str, tuple[float, float]], rate: run_limits.PacedRate, present: list[Presence]) -> None:
        now = self._now()
        self._rate = rate
        self._buckets = {name: one for name, one in self._buckets.items() if name in rates}
        for name, (per_second, most) in rates.items():
            bucket = self._buckets.get(name)
            if bucket is None:
                since = now if self._looks else self._me.began
                bucket = self._buckets[name] = Bucket(self._me, per_second, since, most)
            elif (bucket.rate, bucket.most) != (per_second, most):
                bucket.change(per_second, most, now)
            bucket.learn(present, now, HINDSIGHT_SECONDS)

    def _limits(self) -> tuple[run_limits.RunLimits, run_limits.PacedRate]:
        whole = self._ledger.whole_run()
        with ThreadPoolExecutor(1, thread_name_prefix="limits") as pool:
            pacing = pool.submit(paced_in_force, whole, self._rate)
            wanted, problem = limits_in_force(whole, self._wanted)
        rate, of_pacing = pacing.result()
        self.problem = problem or of_pacing or self.problem
        return wanted, rate

    def _present(self) -> list[Presence]:
        """The functions of this phase at work now or lately."""
        minute = run_limits.minute_of(self._now())
        if self._noted_in != minute:
            self._ledger.mark(run_limits.note_key(self._phase, minute, self._me))
            self._noted_in = minute
        lately = self._now() - minute * run_limits.NOTE_SECONDS < run_limits.LATE_NOTE_SECONDS + HINDSIGHT_SECONDS
        found: dict[str, Presence] = {}
        for one in (minute - 1, minute) if lately else (minute,):
            for key in self._ledger.keys(run_limits.notes_prefix(self._phase, one)):
                run_limits.latest(found, run_limits.presence_from_key(key), is_end=key.count("-") > 1)
        found.pop(self._me.name, None)
        return [*found.values()]
