"""Two runs that come at once, over every store: one writes, the other gives way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from fanout.model.errors import DestinationBusy
from fanout.ports.store import Versioned, VersionedStore
from fanout.ports.turns import Writer
from fanout.turns.write_turn import WriteTurns, writers_from_bytes
from tests.contract.test_versioned_stores import KEY, store
from tests.support.flow import ManualClock
from tests.turns.test_writers import plan

__all__ = ["store"]
RUNS = 6


@dataclass
class Known:
    """Executions that go on."""

    going: set[str]

    def running(self, execution: str) -> bool:
        return execution in self.going


@dataclass
class ReadTogether:
    """A store whose readers all read before the first of them writes; they write one after the other."""

    store: VersionedStore
    barrier: threading.Barrier
    lock: threading.Lock = field(default_factory=threading.Lock)
    has_read: threading.local = field(default_factory=threading.local)

    def read_version(self, key: str) -> Versioned:
        found = self.store.read_version(key)
        if not hasattr(self.has_read, "once"):
            self.has_read.once = True
            self.barrier.wait(30)
        return found

    def write_version(self, key: str, data: bytes, version: str) -> None:
        with self.lock:
            self.store.write_version(key, data, version)


def at_once(store: VersionedStore, sources: list[str]) -> tuple[list[str], list[Exception | Writer | None]]:
    """Runs over the sources take their turn at the same time; returns who is in the list, and what each was told."""
    together = ReadTogether(store, threading.Barrier(len(sources)))
    ids = [f"run-{number}" for number in range(len(sources))]
    turns = WriteTurns(together, Known({f"arn:{run_id}" for run_id in ids}), ManualClock())

    def take(run_id: str, source: str) -> Exception | Writer | None:
        try:
            return turns.take(plan(run_id, source=source), f"arn:{run_id}")
        except DestinationBusy as busy:
            return busy

    with ThreadPoolExecutor(len(sources)) as threads:
        told = list(threads.map(take, ids, sources))
    return [one.run_id for one in writers_from_bytes(store.read_version(KEY).data)], told


def test_of_runs_of_one_transfer_that_come_at_once_one_writes(store: VersionedStore) -> None:
    listed, told = at_once(store, ["s3://a-bucket/in/"] * RUNS)
    assert told.count(None) == 1
    assert listed == [f"run-{told.index(None)}"]
    assert {one.run_id for one in told if isinstance(one, Writer)} == set(listed)


def test_of_other_transfers_to_one_tree_that_come_at_once_one_writes_and_the_others_wait(store: VersionedStore) -> None:
    listed, told = at_once(store, [f"s3://bucket-{number}/" for number in range(RUNS)])
    assert (told.count(None), sum(isinstance(one, DestinationBusy) for one in told)) == (1, RUNS - 1)
    assert listed == [f"run-{told.index(None)}"]


def test_runs_that_do_not_meet_are_all_in_the_list(store: VersionedStore) -> None:
    plans = [plan(f"run-{number}", destination=f"efs:///d{number}") for number in range(RUNS)]
    # Each goes on, so that none takes another out.
    known = Known({f"arn:{one.run_id}" for one in plans})
    turns = WriteTurns(ReadTogether(store, threading.Barrier(RUNS)), known, ManualClock())
    with ThreadPoolExecutor(RUNS) as threads:
        assert list(threads.map(lambda one: turns.take(one, f"arn:{one.run_id}"), plans)) == [None] * RUNS
    listed = {one.run_id for one in writers_from_bytes(store.read_version(KEY).data)}
    assert listed == {one.run_id for one in plans}
    known.going.clear()
    for one in plans:
        WriteTurns(store, known, turns.clock).release(one)
    assert writers_from_bytes(store.read_version(KEY).data) == []


def test_a_run_that_was_stopped_is_taken_over(store: VersionedStore) -> None:
    known = Known({"arn:stopped"})
    turns = WriteTurns(store, known, ManualClock())
    assert turns.take(plan("stopped"), "arn:stopped") is None
    other = turns.take(plan("next"), "arn:next")
    assert other is not None and other.run_id == "stopped"
    known.going.clear()
    assert turns.take(plan("next"), "arn:next") is None
    assert [one.run_id for one in writers_from_bytes(store.read_version(KEY).data)] == ["next"]
