"""Work in several processes: everything once, nothing lost without a word, nobody left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copier import Copier
from fanout.copying.forked_copier import ForkedCopier, processes_for
from fanout.facts import tuning, units
from fanout.model.deadline import NEVER, Deadline
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError, Transient
from fanout.model.outcome import Reason, Result
from fanout.model.segment import Segment
from fanout.work.processes import in_processes
from tests.support.forked import all_ended, noted_forks
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


@pytest.fixture(autouse=True)
def children(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that a test forks."""
    return noted_forks(monkeypatch)


@pytest.mark.parametrize("count", [0, 1, 3, 700, 20_000, 140_000])
def test_every_item_is_worked_on_once(count: int, children: list[int]) -> None:
    def work(turns: Iterator[int]) -> Work:
        taken = 0
        for item in turns:
            taken += 1
            yield [item]
        return taken

    found, taken = all_of(in_processes(range(count), work, 3))
    assert sorted(found) == list(range(count))
    assert len(taken) == 3
    assert sum(taken) == count
    assert all_ended(children)


def test_an_error_of_a_process_is_raised_here(children: list[int]) -> None:
    def work(turns: Iterator[int]) -> Work:
        for item in turns:
            if item == 40:
                raise ItemError(Reason.NO_SPACE, "full")
            yield [item]
        return 0

    with pytest.raises(ItemError, match="full") as caught:
        all_of(in_processes(range(100), work, 4))
    assert caught.value.reason is Reason.NO_SPACE
    assert all_ended(children)


def test_a_process_that_is_killed_is_not_taken_for_one_that_is_done(children: list[int]) -> None:
    def work(turns: Iterator[int]) -> Work:
        for item in turns:
            if item == 40:
                os.kill(os.getpid(), signal.SIGKILL)
            yield [item]
        return 0

    with pytest.raises(Transient, match="ended with -9"):
        all_of(in_processes(range(100), work, 4))
    assert all_ended(children)


def test_processes_end_when_nobody_wants_their_work(children: list[int]) -> None:
    def work(turns: Iterator[int]) -> Work:
        for item in turns:
            yield [item]
        signal.pause()
        return 0

    messages = in_processes(range(2_000), work, 2)
    assert next(messages)
    messages.close()
    assert all_ended(children)


def filled(root: Path, files: int) -> None:
    for number in range(files):
        path = root / f"d{number % 5}/e{number % 3}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(number * 97 % 5_000))
    root.mkdir(exist_ok=True)
    (root / "large").write_bytes(os.urandom(3 * tuning.BLOCK_BYTES_ON_MOUNTS + 5))


def test_processes_copy_what_one_does(tmp_path: Path) -> None:
    filled(tmp_path / "in", 300)
    source = PosixTree(tmp_path, "in", "run", "s", "source")
    destination = writable(PosixTree(tmp_path, "out", "run", "d"))
    work = [*enumerate(source.list(Segment("all"))), (999, Entry("missing", Kind.FILE, 1))]
    copier = ForkedCopier(Copier(source, destination, NEVER, block_bytes=units.MIB, now=lambda: 7.0), 4)
    outcomes = dict(copier.copy_all(work, 16))
    assert outcomes.pop(999).reason is Reason.SOURCE_VANISHED
    assert {one.result for one in outcomes.values()} == {Result.COPIED}
    entries = dict(work)
    one = Copier(source, writable(PosixTree(tmp_path, "one", "run", "e")), NEVER, now=lambda: 7.0)
    assert dict(one.copy_all(work[:-1], 1)) == outcomes
    assert sorted(entry.path for entry, _ in copier.directories) == sorted(entry.path for entry, _ in one.directories)
    destination.finish()
    for index in outcomes:
        path = entries[index].path
        copied = tmp_path / "out" / path
        assert copied.is_dir() if path.endswith("/") else copied.read_bytes() == (tmp_path / "in" / path).read_bytes()
    assert not list((tmp_path / "out").glob(".fanout-*"))


def test_what_the_time_cuts_off_is_named(tmp_path: Path) -> None:
    filled(tmp_path / "in", 0)
    source = PosixTree(tmp_path, "in", "run", "s", "source")
    work = list(enumerate(source.list(Segment("all"))))
    parent = os.getpid()
    looked = iter(range(10))
    copier = ForkedCopier(
        Copier(
            source,
            writable(PosixTree(tmp_path, "out", "run", "d")),
            Deadline(lambda: os.getpid() != parent and next(looked) > 0, 0),
            block_bytes=units.MIB,
        ),
        1,
    )
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
