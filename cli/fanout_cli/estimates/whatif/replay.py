"""The shards of a run in a simulation of events: functions start, each takes the next shard, all share the bounds.

| what                       | is taken to be                                                                   |
|----------------------------|----------------------------------------------------------------------------------|
| order                      | that of the run, the longest shard first                                         |
| starts                     | at most ``MAP_CHILDREN_PER_SECOND``                                              |
| a shard's seconds          | those that it takes alone, over the share of the tightest bound that all reach   |
| waits, failed attempts     | as in the run                                                                    |
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from msgspec import Struct, field

from fanout.facts.aws import MAP_CHILDREN_PER_SECOND
from fanout.pacing.rule import DECIDE_SECONDS
from fanout_cli.estimates.whatif.bounds import Bound, credits_left


class Job(Struct, frozen=True):
    """A shard as the run did it: when each attempt began and ended, its load by the name of the bound.

    ``seconds`` are those that its functions work where nothing but themselves binds them.
    """

    spans: tuple[tuple[float, float], ...]
    seconds: float
    uses: Mapping[str, float]

    @property
    def waited(self) -> float:
        """The seconds between its attempts."""
        worked = sum(ended - began for began, ended in self.spans)
        return max(0.0, self.spans[-1][1] - self.spans[0][0] - worked)


class Replay(Struct, frozen=True):
    """``seconds`` from the first begin to the last end; those that functions work; those in which each bound binds.

    ``credits`` are those at the end, by the name of the bound.
    """

    seconds: float
    function_seconds: float
    bound_seconds: Mapping[str, float] = field(default_factory=dict)
    credits: Mapping[str, float] = field(default_factory=dict)


def replay(jobs: Sequence[Job], functions: int, bounds: list[Bound], between: float = 0.0) -> Replay:
    """The jobs with so many functions at once; ``between`` are seconds until one takes the next job."""
    state = _ReplayState(jobs, functions, bounds, between)
    while state.busy:
        state.step()
    return Replay(state.last_end, state.function_seconds, dict(state.bound), credits_left(bounds))


class _ReplayState:
    """The moment ``now``. All that work go at the same share of their speed; ``work`` is the sum of that so far."""

    def __init__(self, jobs: Sequence[Job], functions: int, bounds: list[Bound], between: float) -> None:
        self.now = self.work = self.last_end = self.function_seconds = 0.0
        self.bound: defaultdict[str, float] = defaultdict(float)
        self._todo, self._bounds, self._between = deque(enumerate(jobs)), bounds, between
        self._free, self._started = functions, 0
        self._timers: list[tuple[float, int, Job | None]] = []
        self._working: list[tuple[float, int, Job]] = []
        self._demand: defaultdict[str, float] = defaultdict(float)

    @property
    def busy(self) -> bool:
        return bool(self._todo or self._timers or self._working)

    def step(self) -> None:
        while self._free and self._todo and self.now >= self._started / MAP_CHILDREN_PER_SECOND:
            number, job = self._todo.popleft()
            self._free, self._started = self._free - 1, self._started + 1
            heappush(self._timers, (self.now + job.waited, number, job))
        share, name = self._share()
        until = [self._timers[0][0]] if self._timers else []
        if self._working:
            until.append(self.now + (self._working[0][0] - self.work) / share)
        if self._free and self._todo:
            until.append(max(self.now, self._started / MAP_CHILDREN_PER_SECOND))
        if any(one.changes for one in self._bounds):
            until.append(self.now + DECIDE_SECONDS)
        self._go(max(0.0, min(until) - self.now), share, name)
        while self._working and self._working[0][0] <= self.work + 1e-9:
            _, number, job = heappop(self._working)
            self._ask(job, -1)
            self.last_end = self.now
            heappush(self._timers, (self.now + self._between, number, None))
        while self._timers and self._timers[0][0] <= self.now + 1e-9:
            _, number, begins = heappop(self._timers)
            if begins is None:
                self._free += 1
            else:
                heappush(self._working, (self.work + begins.seconds, number, begins))
                self._ask(begins, 1)

    def _share(self) -> tuple[float, str]:
        """The share of their own speed that all reach, and the bound that makes it so."""
        found = [
            (one.rate() / self._demand[one.name], one.name) for one in self._bounds if self._demand[one.name] > 1e-9
        ]
        share, name = min(found, default=(1.0, ""))
        return (share, name) if share < 1 else (1.0, "")

    def _go(self, seconds: float, share: float, name: str) -> None:
        for one in self._bounds:
            one.go(seconds, max(0.0, self._demand[one.name]) * share)
        if name:
            self.bound[name] += seconds
        self.now += seconds
        self.work += seconds * share
        self.function_seconds += seconds * len(self._working)

    def _ask(self, job: Job, times: int) -> None:
        """Units a second that a job asks for where nothing binds it, from now on or no more."""
        for name, units in job.uses.items():
            self._demand[name] += times * units / job.seconds
