"""Files of a probe, written and read with the time that each takes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import cache

from fanout.efs.probe_result import Experiment, Point, Sync
from fanout.ports.probe import ProbeDirectory, ProbeFile
from fanout.probe.experiments import file_cost
from fanout.probe.probe_work import Effort
from fanout.probe.samples import Timed


@cache
def block_of(size: int) -> memoryview:
    """A block to write, without zeros."""
    return memoryview(bytes(range(1, 256)) * (size // 255 + 1))[:size]


def directories_of(place: str, point: Point) -> list[str]:
    """The directories that a point's threads work in."""
    return [f"{place}/{number}" for number in range(point.directories)]


def writing(directory: ProbeDirectory, place: str, point: Point, effort: Effort) -> Callable[[int], Iterator[Timed]]:
    """The work of a thread that writes files: a record each, from before its creation until its close."""
    places = directories_of(place, point)

    def work(thread: int) -> Iterator[Timed]:
        for number in range(point.files):
            if effort.is_over or not effort.allowance.take(file_cost(point.file_bytes)):
                return
            path = f"{places[thread % len(places)]}/{directory.client}-{thread:02d}-{number:05d}"
            began = effort.clock.now()
            file = directory.create(path)
            try:
                whole = write_all(file, 0, point, effort)
            finally:
                file.close()
            if whole:
                yield Timed(began, effort.clock.now(), point.file_bytes)

    return work


def creating(
    directory: ProbeDirectory, place: str, point: Point, effort: Effort, experiment: Experiment
) -> Callable[[int], Iterator[Timed]]:
    """The work of a thread that creates empty files. The latency covers the creation alone; the rate also the close."""
    places = directories_of(place, point)

    def work(thread: int) -> Iterator[Timed]:
        for number in range(point.files):
            if effort.is_over or not effort.allowance.take(file_cost(0)):
                return
            began = effort.clock.now()
            file = directory.create(f"{places[thread % len(places)]}/{directory.client}-{thread:02d}-{number:05d}")
            created = effort.clock.now()
            file.close()
            yield Timed(began, created if experiment is Experiment.CREATE_LATENCY else effort.clock.now(), 0)

    return work


def ranging(
    directory: ProbeDirectory, path: str, first: int, point: Point, effort: Effort
) -> Callable[[int], Iterator[Timed]]:
    """The work of a thread that writes a range of one file from ``first`` on. A record covers all bytes synced at once.

    A sync waits for the writes of all threads of a client into the file, so there is one in half of the time.
    """
    together = max(1, int(effort.rate * effort.left_seconds / 2 / point.threads / point.file_bytes))

    def work(thread: int) -> Iterator[Timed]:
        file = directory.create(path, shared=True)
        try:
            for begin in range(0, point.files, together):
                began, size = effort.clock.now(), 0
                for number in range(begin, min(begin + together, point.files)):
                    if effort.is_over or not effort.allowance.take(point.file_bytes):
                        break
                    at = first + (thread * point.files + number) * point.file_bytes
                    file.write(at, block_of(point.file_bytes))
                    size += point.file_bytes
                if not size:
                    return
                file.sync()
                yield Timed(began, effort.clock.now(), size)
        finally:
            file.close()

    return work


def reading(
    directory: ProbeDirectory, paths: deque[str], point: Point, effort: Effort
) -> Callable[[int], Iterator[Timed]]:
    """The work of a thread that reads files, each once with a record; the client must keep none in its cache."""

    def work(_thread: int) -> Iterator[Timed]:
        while paths and not effort.is_over:
            try:
                path = paths.popleft()
            except IndexError:  # another thread took the last one
                return
            file = directory.open(path)
            try:
                file.forget()
                began, size = effort.clock.now(), 0
                while not effort.is_over and effort.allowance.take(point.io_bytes):
                    length = file.read(size, point.io_bytes)
                    size += length
                    if length < point.io_bytes:
                        break
                if size:
                    yield Timed(began, effort.clock.now(), size)
            finally:
                file.close()

    return work


def write_all(file: ProbeFile, first: int, point: Point, effort: Effort) -> bool:
    """Write a point's file, or one range of it, and sync it as the point says; whether the time sufficed."""
    for at in range(0, point.file_bytes, point.io_bytes):
        if effort.is_over:
            return False
        file.write(first + at, block_of(point.io_bytes)[: point.file_bytes - at])
        if point.sync is Sync.BLOCK:
            file.sync()
    if point.sync is Sync.END:
        file.sync()
    return True
