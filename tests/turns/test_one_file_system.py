"""Runs by two mounts of one file system take turns: nothing tells where in it a mount begins."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import pytest

from fanout.model.errors import DestinationBusy, Superseded
from fanout.ports.store import VersionedStore
from fanout.turns.write_turn import WriteTurns, writers_from_bytes
from tests.contract.test_write_turns import Known, ReadTogether
from tests.support.flow import ManualClock
from tests.support.memory_store import MemoryStore
from tests.turns.test_writers import plan

MOUNTS = ("data", "more")
ONE = {"data": "fs-1", "more": "fs-1"}
LISTS = ("locks/mounts/data.json", "locks/mounts/more.json")
# The upper root, and the lower one as a mount shows it that hides the upper.
UPPER, LOWER = {"destination": "efs://data/a", "mode": "sync"}, {"destination": "efs://more/"}
NAMED = {"manifest": "s3://a-bucket/list.csv"}


def turns_of(store: VersionedStore, going: set[str], ids: dict[str, str]) -> WriteTurns:
    return WriteTurns(store, Known(going), ManualClock(), MOUNTS, ids)


def entered(store: VersionedStore) -> list[str]:
    return [one.run_id for key in LISTS for one in writers_from_bytes(store.read_version(key).data)]


@pytest.mark.parametrize(
    ("ids", "first", "second", "waits"),
    [
        (ONE, UPPER, LOWER, True),
        (ONE, LOWER, UPPER, True),
        (ONE, {"destination": "efs://data/x"}, {"destination": "efs://more/x"}, True),
        (ONE, {"source": "efs://data/x", "destination": "s3://b-bucket/", "mode": "move"}, LOWER, True),
        (ONE, UPPER, {"source": "efs://more/x", "destination": "s3://b-bucket/", "mode": "move"}, True),
        # What a manifest names is copied beside other copies, and nobody waits for who writes nothing.
        (ONE, {"destination": "efs://data/a"}, {**LOWER, **NAMED}, False),
        (ONE, UPPER, {**LOWER, **NAMED}, True),
        (ONE, {**UPPER, "mode": "verify"}, LOWER, False),
        (ONE, UPPER, {"source": "efs://more/x", "destination": "s3://b-bucket/"}, False),
        # Two file systems; and ids that are not known, where the run looks at the directories instead.
        ({"data": "fs-1", "more": "fs-2"}, UPPER, LOWER, False),
        ({"data": "", "more": ""}, UPPER, LOWER, False),
        ({"data": "fs-1"}, UPPER, LOWER, False),
        ({}, UPPER, LOWER, False),
    ],
)
def test_the_table(ids: dict[str, str], first: dict[str, Any], second: dict[str, Any], waits: bool) -> None:
    store, going = MemoryStore(), {"arn:one", "arn:two"}
    turns = turns_of(store, going, ids)
    assert turns.take(plan("one", **first), "arn:one") is None
    before = entered(store)
    if waits:
        with pytest.raises(DestinationBusy, match="the run one"):
            turns.take(plan("two", **second), "arn:two")
        assert entered(store) == before
        going.discard("arn:one")
    assert turns.take(plan("two", **second), "arn:two") is None


def test_a_run_between_two_mounts_of_one_file_system_is_not_in_its_own_way() -> None:
    turns = turns_of(MemoryStore(), {"arn:one"}, ONE)
    moving = plan("one", source="efs://data/x", destination="efs://more/y", mode="move")
    assert turns.take(moving, "arn:one") is None
    assert turns.take(moving, "arn:one") is None


class EntersMeanwhile(MemoryStore):
    """A store in which another run enters the other list after this one has looked there for the first time."""

    def __init__(self) -> None:
        super().__init__()
        self.others = turns_of(self, {"arn:one", "arn:two"}, {})
        self.has_entered = False

    def write_version(self, key: str, data: bytes, version: str) -> None:
        if not self.has_entered:
            self.has_entered = True
            assert self.others.take(plan("one", **UPPER), "arn:one") is None
        super().write_version(key, data, version)


def test_a_run_that_meets_another_one_after_it_entered_takes_itself_out() -> None:
    store = EntersMeanwhile()
    with pytest.raises(DestinationBusy, match="the run one"):
        turns_of(store, {"arn:one", "arn:two"}, ONE).take(plan("two", **LOWER), "arn:two")
    assert entered(store) == ["one"]


def test_of_runs_that_come_at_once_at_most_one_writes() -> None:
    store, ids = MemoryStore(), ("one", "two")
    turns = turns_of(store, {"arn:one", "arn:two"}, ONE)
    together = WriteTurns(ReadTogether(store, threading.Barrier(2)), turns.executions, turns.clock, MOUNTS, ONE)

    def take(run_id: str, fields: dict[str, Any]) -> Exception | None:
        try:
            assert together.take(plan(run_id, **fields), f"arn:{run_id}") is None
        except DestinationBusy as busy:
            return busy
        return None

    with ThreadPoolExecutor(2) as threads:
        told = list(threads.map(take, ids, (UPPER, LOWER)))
    assert told.count(None) <= 1
    assert len(entered(store)) == told.count(None)


@pytest.mark.parametrize(
    ("ids", "keeps"),
    [(ONE, False), ({}, False), ({"data": "fs-1"}, False), ({"data": "fs-1", "more": "fs-2"}, True)],
)
def test_a_stopped_run_loses_its_turn_to_a_later_one_that_may_write_there_by_another_mount(
    ids: dict[str, str], keeps: bool
) -> None:
    store, going = MemoryStore(), {"arn:one"}
    turns = turns_of(store, going, ids)
    stopped = plan("one", **UPPER)
    assert turns.take(stopped, "arn:one") is None
    turns.ask(stopped, stopped.request.destination)
    going.discard("arn:one")
    later = plan("two", **LOWER)
    going.add("arn:two")
    assert turns.take(later, "arn:two") is None
    with nullcontext() if keeps else pytest.raises(Superseded, match="has its turn at efs://data/a no more"):
        turns.ask(stopped, stopped.request.destination)
    turns.ask(later, later.request.destination)
    assert entered(store) == ["one", "two"], "the next run at its own mount fences it"
    going.add("arn:one")
    turns.release(later)
    assert turns.take(stopped, "arn:one") is None
    turns.ask(stopped, stopped.request.destination)
