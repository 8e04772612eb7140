"""Entries that wait for a server side by side in one thread, and those that must not."""

from __future__ import annotations

import threading
from collections import defaultdict

import pytest

from fanout.copying.copier import Copier
from fanout.facts import tuning
from fanout.model.deadline import NEVER, Deadline
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import Throttled
from fanout.model.outcome import Reason, Result
from fanout.ports.limiter import NoLimits
from fanout.work.overlapping import under_way_of_a_thread
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemorySource, MemoryTarget

SMALL, LARGE = 100, tuning.BLOCK_BYTES_FREE + 1


class Asked:
    """What a thread has asked for and not yet read, and the most of it at any time."""

    def __init__(self) -> None:
        self.open: defaultdict[int, set[str]] = defaultdict(set)
        self.most: defaultdict[int, int] = defaultdict(int)

    def ask(self, path: str) -> None:
        mine = threading.get_ident()
        self.open[mine].add(path)
        self.most[mine] = max(self.most[mine], len(self.open[mine]))

    def end(self, path: str) -> None:
        self.open[threading.get_ident()].discard(path)


class AskedTarget(MemoryTarget):
    """Sent, and then waited for."""

    asked: Asked
    path: str
    refused = False

    def send(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``."""
        self.asked.ask(self.path)

    def commit(self, checksum: int) -> None:
        """See ``ports.tree.Target``."""
        assert self.path in self.asked.open[threading.get_ident()], "committed and never sent"
        self.asked.end(self.path)
        if self.refused:
            raise Throttled("SlowDown")
        super().commit(checksum)


class ServerTree(MemoryTree):
    """A tree behind a server: what is opened or sent is under way until it is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = Asked()
        self.refuses: set[str] = set()

    @property
    def overlaps(self) -> bool:
        """See ``ports.tree.Tree``."""
        return True

    def open(self, entry: Entry) -> MemorySource:
        """See ``ports.tree.Tree``."""
        self.asked.ask(entry.path)
        source, asked = super().open(entry), self.asked

        class Source(MemorySource):
            def close(self) -> None:
                asked.end(entry.path)

        source.__class__ = Source
        return source

    def create(self, entry: Entry, attributes: Attributes) -> MemoryTarget:
        """See ``ports.tree.Tree``."""
        target = super().create(entry, attributes)
        target.__class__ = AskedTarget
        assert isinstance(target, AskedTarget)
        target.asked, target.path, target.refused = self.asked, entry.path, entry.path in self.refuses
        return target


def filled(tree: MemoryTree, sizes: list[int]) -> list[tuple[int, Entry]]:
    return [(number, tree.put(f"f{number}", Kind.FILE, bytes(size))) for number, size in enumerate(sizes)]


def test_small_objects_are_asked_for_ahead() -> None:
    source, destination = ServerTree(), MemoryTree()
    work = filled(source, [SMALL] * 50)
    outcomes = dict(Copier(source, destination, NEVER).copy_all(work, 1))
    assert {outcome.result for outcome in outcomes.values()} == {Result.COPIED}
    assert sorted(outcomes) == list(range(50))
    assert set(source.asked.most.values()) == {tuning.THREAD_ENTRIES_UNDER_WAY}
    assert not any(source.asked.open.values())


def test_small_objects_are_sent_one_behind_the_other() -> None:
    source, destination = MemoryTree(), ServerTree()
    work = filled(source, [SMALL] * 50)
    destination.refuses.add("f7")
    outcomes = dict(Copier(source, destination, NEVER).copy_all(work, 1))
    assert set(destination.asked.most.values()) == {tuning.THREAD_ENTRIES_UNDER_WAY}
    assert outcomes.pop(7).reason is Reason.TRANSIENT
    assert {outcome.result for outcome in outcomes.values()} == {Result.COPIED}


def test_few_objects_are_under_way_at_first_and_more_with_those_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has a connection, and a handshake is work for many objects."""
    monkeypatch.setattr(tuning, "ENTRIES_UNDER_WAY_FIRST", 2)
    monkeypatch.setattr(tuning, "ENTRIES_A_CONNECTION", 5)
    most = 0
    for done in range(1, 41):
        source, destination = ServerTree(), MemoryTree()
        assert len(dict(Copier(source, destination, NEVER).copy_all(filled(source, [SMALL] * done), 1))) == done
        (most,) = source.asked.most.values()
        assert most <= 2 + done // 5
    assert most == 2 + (40 - most) // 5


@pytest.mark.parametrize(
    ("threads", "done", "each"),
    [(1, 0, 16), (2, 0, 16), (4, 0, 8), (32, 0, 2), (64, 0, 2), (64, 200, 2), (32, 768, 4), (64, 100_000, 2)],
)
def test_threads_share_what_may_be_under_way(threads: int, done: int, each: int) -> None:
    assert under_way_of_a_thread(threads, done) == each


def test_of_a_larger_object_a_thread_holds_one() -> None:
    source, destination = ServerTree(), MemoryTree()
    work = filled(source, [LARGE] * 10)
    outcomes = dict(Copier(source, destination, NEVER).copy_all(work, 1))
    assert len(outcomes) == 10
    assert set(source.asked.most.values()) == {1}


def test_what_is_under_way_when_the_time_is_up_is_ended() -> None:
    source, destination = ServerTree(), MemoryTree()
    work = filled(source, [SMALL] * 40)
    asked_for: list[int] = []

    def out_of_time() -> bool:
        asked_for.append(1)
        return len(asked_for) > 6

    copier = Copier(source, destination, Deadline(out_of_time, 0))
    assert sorted(index for index, _ in copier.copy_all(work, 1)) == list(range(6))
    assert not copier.unfinished
    assert not any(source.asked.open.values())


def test_an_error_leaves_nothing_open() -> None:
    source, destination = ServerTree(), MemoryTree()
    work = filled(source, [SMALL] * 3)
    work.append((3, Entry("f3", Kind.FILE, SMALL)))  # KeyError: no such entry in memory

    def broken(_entry: Entry) -> str | None:
        if _entry.path == "f3":
            raise MemoryError("not an error of an entry")
        return None

    copier = Copier(source, destination, NEVER, same=broken)
    with pytest.raises(MemoryError, match="not an error of an entry"):
        list(copier.copy_all(work, 1))
    assert not any(source.asked.open.values())


class Refusing(NoLimits):
    """Lets an entry begin only where its thread has nothing under way, which a thread that waits never ends."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.begun: list[int] = []
        self.read_bytes: list[int] = []

    def ask(self, size: int, ticket: object) -> float:
        """See ``Limiter``."""
        self.read_bytes.append(size)
        return 0.0

    def ask_to_begin(self, files: int, size: int) -> float:
        """See ``Limiter``."""
        if self._asked.open[threading.get_ident()]:
            return 0.001
        self.begun.append(size)
        return 0.0

    def sleep(self, seconds: float) -> None:
        """See ``Limiter``."""
        raise AssertionError("waits while an answer is under way")


def test_who_is_held_back_receives_what_is_under_way_first() -> None:
    source, destination = ServerTree(), MemoryTree()
    work = filled(source, [SMALL, SMALL, LARGE, SMALL])
    limiter = Refusing(source.asked)
    outcomes = dict(Copier(source, destination, NEVER, limiter=limiter).copy_all(work, 1))
    assert {outcome.result for outcome in outcomes.values()} == {Result.COPIED} and len(outcomes) == 4
    assert limiter.begun == [SMALL, SMALL, LARGE, SMALL] and limiter.read_bytes == []


def test_an_object_of_many_answers_is_paid_for_one_by_one() -> None:
    source, destination = ServerTree(), MemoryTree()
    work = filled(source, [tuning.BLOCK_BYTES + 1])
    limiter = Refusing(source.asked)
    copier = Copier(source, destination, NEVER, limiter=limiter, block_bytes=tuning.BLOCK_BYTES)
    assert len(list(copier.copy_all(work, 1))) == 1
    assert limiter.begun == [0] and limiter.read_bytes == [tuning.BLOCK_BYTES, 1]
