"""As many threads as help: one where nothing waits, all where operations wait."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fanout.copying.copier import Copier
from fanout.facts import tuning
from fanout.ledger.shard_order import spread
from fanout.model.deadline import NEVER
from fanout.model.entry import Entry, Kind
from fanout.work import threads
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemorySource


class Server(MemoryTree):
    """A tree whose files take a while to open."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        self.threads: set[int] = set()

    def open(self, entry: Entry) -> MemorySource:
        """See ``ports.tree.Tree``."""
        self.threads.add(threading.get_ident())
        if self.seconds:
            time.sleep(self.seconds)
        return super().open(entry)


def copied_by(seconds: float, entries: int) -> tuple[int, float]:
    """How many threads copied so many entries, and in what time."""
    source = Server(seconds)
    work = [(number, source.put(f"f{number}", Kind.FILE, b"x")) for number in range(entries)]
    began = time.monotonic()
    outcomes = list(Copier(source, MemoryTree(), NEVER).copy_all(work, 64))
    assert sorted(index for index, _ in outcomes) == list(range(entries))
    return len(source.threads), time.monotonic() - began


def test_all_threads_where_operations_wait() -> None:
    threads, seconds = copied_by(0.02, 1_000)
    assert threads == 64
    assert seconds < 1_000 * 0.02 / 8


@pytest.mark.parametrize(
    ("busy", "waits", "grows"), [(0.0, 1_000, True), (0.5, 1_000, True), (0.95, 1_000, False), (0.5, 0, False)]
)
def test_threads_are_added_where_those_at_work_wait_and_not_where_they_keep_a_processor_busy(
    monkeypatch: pytest.MonkeyPatch, busy: float, waits: int, grows: bool
) -> None:
    reviews = itertools.count()
    monkeypatch.setattr(threads, "_usage", lambda: ((now := float(next(reviews))), busy * now, int(waits * now)))
    ended = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        running = threads.Threads(pool, lambda: assert_true(ended.wait(60)), 4, [])
        for _ in range(5):
            assert running.review()
        assert (pool._work_queue.qsize() + len(pool._threads) > 1) is grows
        ended.set()


def assert_true(value: bool) -> None:
    assert value


def test_an_error_of_a_thread_is_not_lost() -> None:
    def entries() -> Iterator[tuple[int, Entry]]:
        yield 0, Entry("missing", Kind.FILE, 0)
        raise RuntimeError("the shard cannot be read")

    with pytest.raises(RuntimeError, match="cannot be read"):
        list(Copier(MemoryTree(), MemoryTree(), NEVER).copy_all(entries(), 4))


def test_files_are_taken_in_turn_over_as_many_directories_as_stay_open() -> None:
    entries = [Entry(f"d{number:03d}/f{file}", Kind.FILE) for number in range(300) for file in range(3)]
    order = spread([*entries, Entry("d000/", Kind.DIRECTORY)])
    assert order.pop().path == "d000/"
    assert sorted(one.path for one in order) == sorted(entry.path for entry in entries)
    width = tuning.SPREAD_DIRECTORIES
    assert len({one.path[:4] for one in order[:width]}) == width
    for start in range(0, len(order) - width * 3, 50):
        assert len({one.path[:4] for one in order[start : start + width]}) > width // 2
