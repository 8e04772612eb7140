"""A copier in several processes of one function."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Protocol

from fanout.copying.copier import Copier
from fanout.facts import tuning
from fanout.model.entry import Entry, MadeEntry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result
from fanout.shards.made_directories import SeenDirectory, take
from fanout.work.processes.crew import Crew
from fanout.work.processes.shared_work import in_processes
from fanout.work.rates.shared_limiter import AskingLimiter, SharedLimiter

NumberedEntry = tuple[int, Entry]


class CopiesEntries(Protocol):
    """Copies entries and returns their outcomes; see ``Copier``. ``left_out`` are so many that another task copies."""

    directories: list[SeenDirectory]
    unfinished: list[NumberedEntry]
    left_out: int

    def copy_all(self, entries: Sequence[NumberedEntry], threads: int) -> Iterator[tuple[int, Outcome]]: ...

    def take_made(self) -> Sequence[MadeEntry]: ...


class ForkedCopier:
    """Copies in so many processes of ``crew``, each with a copier that ``make`` makes there.

    ``make`` is pickled, with trees that hold nothing yet; it takes the limiter of its process, where there is
    ``shared``, as ``limiter``.
    """

    def __init__(
        self, crew: Crew, make: Callable[..., Copier], processes: int, shared: SharedLimiter | None = None
    ) -> None:
        self._crew, self._make = crew, make
        self._processes, self._shared = processes, shared
        self.directories: list[SeenDirectory] = []
        self.unfinished: list[NumberedEntry] = []
        self.left_out = 0
        self._made: list[MadeEntry] = []

    def take_made(self) -> Sequence[MadeEntry]:
        """As ``Copier.take_made``, of all processes."""
        taken, self._made = self._made, []
        return taken

    def copy_all(self, entries: Sequence[NumberedEntry], threads: int) -> Iterator[tuple[int, Outcome]]:
        """As ``Copier.copy_all``, with ``threads`` in all processes together."""
        work = partial(_copy, self._make, max(1, threads // self._processes))
        limits = self._shared.descriptors if self._shared is not None else _no_limits
        known = dict(entries)
        messages = in_processes(self._crew, entries, work, self._processes, limits)
        with closing(messages):
            while True:
                try:
                    batch = next(messages)
                except StopIteration as stop:
                    for unfinished in stop.value:
                        self.unfinished += unfinished
                    return
                for index, outcome, directories, made in batch:
                    self.directories += directories
                    self._made += made
                    yield index, outcome if isinstance(outcome, Outcome) else _copied(known[index], *outcome)


def _no_limits(_number: int) -> tuple[int, ...]:
    return ()


def _copy(
    make: Callable[..., Copier], threads: int, turns: Iterator[NumberedEntry], *limits: int
) -> Generator[list[_FromProcess], None, list[NumberedEntry]]:
    """In a process: copy the entries of its turns."""
    copier = make(limiter=AskingLimiter(*limits)) if limits else make()
    for index, outcome in copier.copy_all(turns, threads):
        made = take(copier.directories)
        is_plain = outcome.result is Result.COPIED and not outcome.unread
        short = (outcome.crc64nvme, outcome.seconds) if is_plain else outcome
        yield [(index, short, made, copier.take_made())]
    return copier.unfinished


# The index of an entry, its outcome or, where it was copied and no more is to be said, its checksum and seconds alone,
# the directories made or put into, and what a version got.
_FromProcess = tuple[int, Outcome | tuple[str | None, float | None], list[SeenDirectory], Sequence[MadeEntry]]


def _copied(entry: Entry, checksum: str | None, seconds: float | None) -> Outcome:
    return Outcome.done(entry, Result.COPIED, checksum, seconds=seconds)


def processes_for(entries: int, threads: int, most: int = tuning.COPY_PROCESSES) -> int:
    """How many processes so many entries are worth, of which each has a thread: one costs milliseconds and a few MB."""
    return max(1, min(most, tuning.COPY_PROCESSES, threads, entries // tuning.ENTRIES_A_PROCESS))
