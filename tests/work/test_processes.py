"""Work in several processes: everything once, nothing lost without a word, nobody left behind."""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copier import Copier
from fanout.copying.forked_copier import ForkedCopier, processes_for
from fanout.facts import tuning, units
from fanout.model.deadline import NEVER, Deadline
from fanout.model.entry import Entry, Kind, Place
from fanout.model.errors import ItemError, Stalled, Transient
from fanout.model.outcome import Reason, Result
from fanout.model.segment import Segment
from fanout.shards.made_directories import rows_of
from fanout.work.processes.crew import Crew
from fanout.work.processes.shared_work import in_processes
from tests.support.crew import a_crew, processes_of
from tests.support.mounts import writable

Work = Generator[list[int], None, int]


def all_of(messages: Generator[list[int], None, list[int]]) -> tuple[list[int], list[int]]:
    """Everything that is yielded, and what is returned."""
    found: list[int] = []
    while True:
        try:
            found += next(messages)
        except StopIteration as stop:
            return found, stop.value


def take_all(items: Iterator[int]) -> Work:
    taken = 0
    for item in items:
        taken += 1
        yield [item]
    return taken


def full_at_40(items: Iterator[int]) -> Work:
    for item in items:
        if item == 40:
            raise ItemError(Reason.NO_SPACE, "full")
        yield [item]
    return 0


def killed_at_40(items: Iterator[int]) -> Work:
    for item in items:
        if item == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        yield [item]
    return 0


def never_done(items: Iterator[int]) -> Work:
    for item in items:
        yield [item]
    signal.pause()
    return 0


def stopped_at_40(items: Iterator[int]) -> Work:
    for item in items:
        if item == 40:
            os.kill(os.getpid(), signal.SIGSTOP)
        yield [item]
    return 0


def waits_for_a_lock_at_40(items: Iterator[int]) -> Work:
    """As one that a fork left locked."""
    lock = threading.Lock()
    for item in items:
        if item == 40:
            lock.acquire()
            lock.acquire()
        yield [item]
    return 0


def opens_a_file_of_a_dead_mount_at_40(path: str, items: Iterator[int]) -> Work:
    for item in items:
        if item == 40:
            os.open(path, os.O_RDONLY)
        yield [item]
    return 0


@pytest.fixture
def crew() -> Iterator[Crew]:
    """A crew, none of whose processes is left in the end."""
    with a_crew() as crew:
        yield crew


@pytest.mark.parametrize("count", [0, 1, 3, 700, 20_000, 140_000])
def test_every_item_is_worked_on_once(count: int, crew: Crew) -> None:
    found, taken = all_of(in_processes(crew, range(count), take_all, 3))
    assert sorted(found) == list(range(count))
    assert len(taken) == 3
    assert sum(taken) == count


def test_an_error_of_a_process_is_raised_here(crew: Crew) -> None:
    with pytest.raises(ItemError, match="full") as caught:
        all_of(in_processes(crew, range(100), full_at_40, 4))
    assert caught.value.reason is Reason.NO_SPACE


def test_a_process_that_is_killed_is_not_taken_for_one_that_is_done_and_the_next_ones_work(crew: Crew) -> None:
    for _ in range(2):
        with pytest.raises(Transient, match="ended with -9"):
            all_of(in_processes(crew, range(100), killed_at_40, 4))
        assert processes_of(crew) == []
        assert sorted(all_of(in_processes(crew, range(100), take_all, 4))[0]) == list(range(100))


@pytest.mark.parametrize("work", [stopped_at_40, waits_for_a_lock_at_40, opens_a_file_of_a_dead_mount_at_40])
def test_one_that_hangs_ends_the_work_by_name_and_is_ended(
    crew: Crew, work: Callable[..., Work], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "STALL_SECONDS", 0.3)
    monkeypatch.setattr(tuning, "STALL_LOOK_SECONDS", 0.1)
    os.mkfifo(tmp_path / "fifo")
    if work is opens_a_file_of_a_dead_mount_at_40:
        work = partial(work, str(tmp_path / "fifo"))
    with pytest.raises(Stalled, match="a process of this function showed no progress"):
        all_of(in_processes(crew, range(100), work, 3))
    assert processes_of(crew) == []


def test_processes_end_when_nobody_wants_their_work(crew: Crew) -> None:
    messages = in_processes(crew, range(2_000), never_done, 2)
    assert next(messages)
    messages.close()
    assert processes_of(crew) == []


def test_work_that_cannot_be_handed_over_begins_no_process(crew: Crew) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        all_of(in_processes(crew, range(3), lambda items: take_all(items), 2))
    assert processes_of(crew) == []
    assert sorted(all_of(in_processes(crew, range(3), take_all, 2))[0]) == [0, 1, 2]


def filled(root: Path, files: int) -> None:
    for number in range(files):
        path = root / f"d{number % 5}/e{number % 3}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(number * 97 % 5_000))
    root.mkdir(exist_ok=True)
    (root / "large").write_bytes(os.urandom(3 * tuning.BLOCK_BYTES_ON_MOUNTS + 5))


def seven() -> float:
    return 7.0


def test_processes_copy_what_one_does(tmp_path: Path, crew: Crew) -> None:
    filled(tmp_path / "in", 300)
    source = PosixTree(tmp_path, "in", "run", "s", "source")
    destination = writable(PosixTree(tmp_path, "out", "run", "d"))
    work = [*enumerate(source.list(Segment("all"))), (999, Entry("missing", Kind.FILE, 1))]
    make = partial(Copier, source, destination, NEVER, block_bytes=units.MIB, now=seven)
    copier = ForkedCopier(crew, make, 4)
    outcomes = dict(copier.copy_all(work, 16))
    assert outcomes.pop(999).reason is Reason.SOURCE_VANISHED
    assert {one.result for one in outcomes.values()} == {Result.COPIED}
    entries = dict(work)
    one = Copier(source, writable(PosixTree(tmp_path, "one", "run", "e")), NEVER, now=seven)
    assert dict(one.copy_all(work[:-1], 1)) == outcomes
    assert {row["path"] for row in rows_of(copier.directories)} == {row["path"] for row in rows_of(one.directories)}
    made = [sorted(row[0].path for row in by.directories if not isinstance(row, Place)) for by in (copier, one)]
    assert made[0] == made[1] != []
    destination.finish()
    for index in outcomes:
        path = entries[index].path
        copied = tmp_path / "out" / path
        assert copied.is_dir() if path.endswith("/") else copied.read_bytes() == (tmp_path / "in" / path).read_bytes()
    assert not list((tmp_path / "out").glob(".fanout-*"))


class Clock:
    """A clock on which the time is up after its first look."""

    def __init__(self) -> None:
        self.looked = 0.0

    def now(self) -> float:
        self.looked += 1
        return self.looked


def test_what_the_time_cuts_off_is_named(tmp_path: Path, crew: Crew) -> None:
    filled(tmp_path / "in", 0)
    source = PosixTree(tmp_path, "in", "run", "s", "source")
    destination = writable(PosixTree(tmp_path, "out", "run", "d"))
    work = list(enumerate(source.list(Segment("all"))))
    make = partial(Copier, source, destination, Deadline(Clock().now, 1), block_bytes=units.MIB)
    copier = ForkedCopier(crew, make, 1)
    assert list(copier.copy_all(work, 1)) == []
    assert [entry.path for _, entry in copier.unfinished] == ["large"]
    assert not (tmp_path / "out/large").exists()


@pytest.mark.parametrize(
    ("entries", "threads", "processes"),
    [(0, 64, 1), (99, 64, 1), (100, 64, 2), (250, 64, 5), (20_000, 64, 8), (20_000, 3, 3), (20_000, 1, 1)],
)
def test_few_entries_are_not_worth_many_processes(entries: int, threads: int, processes: int) -> None:
    assert processes_for(entries, threads) == processes


def test_a_bucket_gets_as_many_processes_as_there_are_processors() -> None:
    assert [processes_for(20_000, 64, processors) for processors in (1, 2, 6, 32)] == [1, 2, 6, tuning.COPY_PROCESSES]
