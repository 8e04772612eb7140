"""The processes of a function ask its one limiter, and nobody where nothing is held back."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copier import Copier
from fanout.copying.forked_copier import ForkedCopier
from fanout.facts import units
from fanout.model.deadline import NEVER, PASSED
from fanout.model.errors import TimeUp, Transient
from fanout.model.segment import Segment
from fanout.ports.limiter import TaskLimiter
from fanout.work.processes.shared_work import in_processes
from fanout.work.progress import FILES, NETWORK, moved
from fanout.work.rates import shared_limiter
from fanout.work.rates.shared_limiter import AskingLimiter, SharedLimiter
from tests.support.crew import a_crew
from tests.support.mounts import writable


class Counting(TaskLimiter):
    """Counts what it grants, and refuses every second question, or all."""

    def __init__(self, *, held: Callable[[], bool] = lambda: True, refuses_all: bool = False) -> None:
        self._held, self._refuses_all = held, refuses_all
        self.questions = self.bytes = self.files = 0
        self.waiting: set[object] = set()
        self.was_cut_off = False

    def _grants(self) -> bool:
        self.questions += 1
        return self.questions % 2 == 0 and not self._refuses_all

    def ask(self, size: int, ticket: object) -> float:
        """See ``Limiter``."""
        if not self._grants():
            self.waiting.add(ticket)
            return 0.001
        self.bytes += size
        return 0.0

    def leave(self, ticket: object, *, cut_off: bool) -> None:
        """See ``Limiter``."""
        self.waiting.discard(ticket)
        self.was_cut_off = self.was_cut_off or cut_off

    def ask_to_begin(self, files: int, size: int) -> float:
        """See ``Limiter``."""
        if not self._grants():
            return 0.001
        self.files, self.bytes = self.files + files, self.bytes + size
        return 0.0

    def sleep(self, seconds: float) -> None:
        """See ``Limiter``."""

    def holds(self) -> bool:
        """See ``TaskLimiter``."""
        return self._held()

    def cut_off(self, size: int) -> bool:
        """See ``TaskLimiter``."""
        return self.was_cut_off

    def end(self) -> None:
        """See ``TaskLimiter``."""


def copied(root: Path, limiter: Counting) -> int:
    """Copy 40 files and one of several blocks with three processes; their bytes."""
    (root / "in").mkdir()
    for number in range(40):
        (root / f"in/f{number}").write_bytes(os.urandom(number * 97))
    (root / "in/large").write_bytes(os.urandom(3 * units.MIB + 5))
    source, destination = PosixTree(root, "in", "run", "s", "source"), writable(PosixTree(root, "out", "run", "d"))
    work = list(enumerate(source.list(Segment("all"))))
    with a_crew() as crew, closing(SharedLimiter(limiter, 3)) as shared:
        make = partial(Copier, source, destination, NEVER, block_bytes=units.MIB)
        outcomes = dict(ForkedCopier(crew, make, 3, shared).copy_all(work, 12))
    assert len(outcomes) == len(work) == 41
    return sum(outcome.size for outcome in outcomes.values())


def test_every_byte_and_entry_of_every_process_is_asked_for(tmp_path: Path) -> None:
    limiter = Counting()
    assert copied(tmp_path, limiter) == limiter.bytes > 3 * units.MIB
    assert limiter.files == 41
    assert limiter.waiting == set() and not limiter.was_cut_off


def test_nobody_asks_where_nothing_is_held_back(tmp_path: Path) -> None:
    limiter = Counting(held=lambda: False)
    assert copied(tmp_path, limiter) > 3 * units.MIB
    assert limiter.questions == 0


Work = Generator[list[str], None, None]


def in_one_process(limiter: Counting, work: Callable[..., Work]) -> list[str]:
    """What ``work`` says in a process of its own."""
    with a_crew() as crew, closing(SharedLimiter(limiter, 1)) as shared:
        return [one for batch in in_processes(crew, [0], work, 1, shared.descriptors) for one in batch]


def wait_until_held_back(_items: Iterator[int], *limits: int) -> Work:
    limiter = AskingLimiter(*limits)
    while not limiter.ask_to_begin(1, 0):
        moved(FILES)  # of the entry that began
        time.sleep(0.001)
    yield ["held back"]


def read_too_late(_items: Iterator[int], *limits: int) -> Work:
    try:
        AskingLimiter(*limits).read(5, PASSED)
    except TimeUp:
        yield ["cut off"]


def ask_and_die(items: Iterator[int], *limits: int) -> Work:
    limiter = AskingLimiter(*limits)
    for item in items:
        limiter.ask_to_begin(1, 0)
        if item == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        yield ["asked"]


def test_a_limit_that_comes_later_reaches_a_process_at_work() -> None:
    looks = iter([False, False, True])
    limiter = Counting(held=lambda: next(looks, True), refuses_all=True)
    assert in_one_process(limiter, wait_until_held_back) == ["held back"]


def test_no_look_for_limits_hides_that_the_processes_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look shows progress, as it asks the ledger."""
    monkeypatch.setattr(shared_limiter, "_LOOK_SECONDS", 0.001)
    looks = 0
    first = threading.Event()

    def held() -> bool:
        nonlocal looks
        looks += 1
        if looks == 2:  # the first is made before the thread is there
            first.set()
        moved(NETWORK)
        return False

    with closing(SharedLimiter(Counting(held=held), 1)):
        first.wait()
        assert not threading.Event().wait(0.1)
    assert looks == 2


def test_work_that_is_cut_off_waits_no_more_and_the_function_knows() -> None:
    limiter = Counting(refuses_all=True)
    assert in_one_process(limiter, read_too_late) == ["cut off"]
    assert limiter.cut_off(5) and limiter.waiting == set() and limiter.questions == 1


def test_a_process_that_dies_takes_no_limits_from_the_next_ones() -> None:
    limiter = Counting()
    with a_crew() as crew:
        for _ in range(2):
            with closing(SharedLimiter(limiter, 2)) as shared:
                with pytest.raises(Transient, match="ended with -9"):
                    list(in_processes(crew, range(3), ask_and_die, 2, shared.descriptors))
                before = limiter.questions
                assert list(in_processes(crew, range(1, 3), ask_and_die, 2, shared.descriptors))
                assert limiter.questions >= before + 2
