"""The copy of a run as its ledger tells it, and the seconds that each shard takes where nothing else binds it.

A shard that worked while a shared bound was reached says only that its functions are no slower than that. Alone
it is taken to need what the plan predicts, times what the other shards needed for their prediction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from statistics import median

from msgspec import Struct

from fanout.efs.capacity import FileSystemState, iops_seconds
from fanout.efs.load import Work, loads_of
from fanout.model.books import Count
from fanout.model.shard import Rates
from fanout.pacing.rule import DECIDE_SECONDS
from fanout.pacing.start import entry_bytes_of, limited_bytes
from fanout.request.request import Request
from fanout.shards.tasks.attempt import Attempt
from fanout_cli.estimates.whatif.bounds import Bound, TimedBound, throughput_of
from fanout_cli.estimates.whatif.replay import Job

# Chosen: a bound of which so much is used is reached; a shard that met it for less of its time was free of it.
REACHED, FREE = 0.9, 0.1
# The ledger's times are in milliseconds.
MOMENT = 1e-3


class SpeedLimits(Struct, frozen=True):
    """The limits of the speed of a copy, except its functions: the request's rates, and the file systems by mount.

    ``paced`` are the rates that the pacing set, from so many seconds after the begin on.
    """

    request: Request
    states: Mapping[str, FileSystemState]
    paced: tuple[tuple[float, float | None], ...] = ()

    def uses(self, worked: Count) -> dict[str, float]:
        """The load of so much work, by the name of the bound."""
        work = Work(worked.entries, worked.entries, worked.bytes, 1, 0.0)
        charged = float(limited_bytes(self.request, work))
        found = {
            "pacing": charged + worked.entries * entry_bytes_of(self.request),
            "bytes of the request": charged,
            "files of the request": worked.entries,
        }
        for mount, load in loads_of(self.request, work).items():
            state = self.states.get(mount)
            if state is not None:
                found |= {
                    f"throughput of efs://{mount}/": load.metered_bytes,
                    f"reads of efs://{mount}/": load.read_bytes if state.credits_bytes is None else 0.0,
                    f"IOPS of efs://{mount}/": iops_seconds(state, load),
                }
        return found

    def bounds(self, all_of_it: Count) -> list[Bound]:
        """The bounds at the begin of the copy."""
        limits, uses = self.request.limits, self.uses(all_of_it)
        found: list[Bound] = [TimedBound("pacing", self.paced)] if self.paced else []
        if limits.bytes_per_second:
            found.append(Bound("bytes of the request", limits.bytes_per_second))
        if limits.files_per_second:
            found.append(Bound("files of the request", limits.files_per_second))
        for mount, state in self.states.items():
            name = f"throughput of efs://{mount}/"
            if name in uses:
                found.append(throughput_of(mount, state, uses[name], limits.credit_reserve_percent))
                found.append(Bound(f"reads of efs://{mount}/", state.quota.read_bytes_per_second))
                found.append(Bound(f"IOPS of efs://{mount}/", 1.0))
        return found


class Task(Struct, frozen=True):
    """A shard's attempts, and their work."""

    spans: tuple[tuple[float, float], ...]
    worked: Count

    @property
    def seconds(self) -> float:
        """Those of its attempts; a moment at least."""
        return max(MOMENT, sum(ended - began for began, ended in self.spans))


def tasks_of(attempts: Iterable[tuple[str, list[Attempt]]]) -> list[Task]:
    """The shards in the order in which they were begun; of an attempt that was lost the end is the next one's begin."""
    found = []
    for _, of_shard in attempts:
        ends = [one.began for one in of_shard[1:]]
        spans = [
            (one.began, max(one.began, one.ended if one.ended is not None else end))
            for one, end in zip(of_shard, [*ends, of_shard[-1].began], strict=True)
        ]
        worked = sum((Count(one.entries, one.bytes) for one in of_shard), Count())
        found.append(Task(tuple(spans), worked))
    return sorted(found, key=lambda one: one.spans[0][0])


def most_at_once(tasks: Sequence[Task]) -> int:
    """The most shards that were worked on at a time."""
    running: list[float] = []
    most = 0
    for one in tasks:
        while running and running[0] <= one.spans[0][0]:
            heappop(running)
        heappush(running, one.spans[-1][1])
        most = max(most, len(running))
    return most


def seconds_between(tasks: Sequence[Task], functions: int) -> float:
    """The seconds from a shard's end to the begin of the next one in its place, in the middle of them."""
    ends: list[float] = []
    gaps = []
    for one in tasks:
        if len(ends) >= functions:
            gaps.append(max(0.0, one.spans[0][0] - heappop(ends)))
        heappush(ends, one.spans[-1][1])
    return median(gaps) if gaps else 0.0


class Bounded(Struct, frozen=True):
    """Seconds of each task alone; the seconds in which each bound was reached; the shares of the tasks that it held."""

    seconds: list[float]
    reached: Mapping[str, float]
    held: float


def alone(tasks: Sequence[Task], settings: SpeedLimits, rates: Rates) -> Bounded:
    """The seconds of each task where nothing but its function binds it."""
    held, reached = _held(tasks, settings)
    predicted = [max(MOMENT, rates.seconds(one.worked.entries, one.worked.bytes)) for one in tasks]
    free = [one.seconds / long for one, long, part in zip(tasks, predicted, held, strict=True) if part < FREE]
    factor = median(free) if free else 1.0
    seconds = [
        one.seconds if part < FREE else min(one.seconds, factor * long)
        for one, long, part in zip(tasks, predicted, held, strict=True)
    ]
    return Bounded(seconds, reached, sum(part >= FREE for part in held) / len(tasks))


def jobs_of(tasks: Sequence[Task], seconds: Sequence[float], settings: SpeedLimits) -> list[Job]:
    return [
        Job(one.spans, max(MOMENT, long), settings.uses(one.worked)) for one, long in zip(tasks, seconds, strict=True)
    ]


def _held(tasks: Sequence[Task], settings: SpeedLimits) -> tuple[list[float], dict[str, float]]:
    """The part of each task's seconds in which a bound was reached, and the seconds in which each was the tightest."""
    bounds = settings.bounds(sum((one.worked for one in tasks), Count()))
    events = sorted(_events(tasks, any(one.changes for one in bounds)))
    demand: dict[str, float] = dict.fromkeys((one.name for one in bounds), 0.0)
    reached: dict[str, float] = {}
    speeds = [{name: units / one.seconds for name, units in settings.uses(one.worked).items()} for one in tasks]
    total, now = 0.0, events[0][0]
    sums = [0.0] * len(tasks)
    for at, step, number in events:
        share, name = max(((demand[one.name] / one.rate(), one.name) for one in bounds), default=(0.0, ""))
        if share >= REACHED:
            total += at - now
            reached[name] = reached.get(name, 0.0) + at - now
        for one in bounds:
            one.go(at - now, max(0.0, demand[one.name]))
        now = at
        if step:
            sums[number] -= step * total
            for one in bounds:
                demand[one.name] += step * speeds[number].get(one.name, 0.0)
    return [found / one.seconds for found, one in zip(sums, tasks, strict=True)], reached


def _events(tasks: Sequence[Task], ticks: bool) -> Iterator[tuple[float, int, int]]:
    for number, one in enumerate(tasks):
        for began, ended in one.spans:
            yield began, 1, number
            yield ended, -1, number
    at, last = tasks[0].spans[0][0], max(one.spans[-1][1] for one in tasks)
    while ticks and at < last:
        at += DECIDE_SECONDS
        yield at, 0, 0
