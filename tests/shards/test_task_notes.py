"""The notes that a long task leaves of how far it is: when, in which key, and that no book believes them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.copying.copy_shard import copy_shard
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.entry import Kind
from fanout.model.errors import Transient
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.shards.partitioned import shards_of
from fanout.shards.tasks.attempt import (
    FIRST_NOTE_SECONDS,
    NOTE_EVERY_SECONDS,
    REASONS_NOTED,
    Attempt,
    AttemptEnd,
    age_of,
    attempt_from_key,
    attempt_key,
    note_key,
    notes_prefix,
)
from fanout.shards.tasks.attempts import TaskNotes
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

times = st.integers(0, 4_000_000_000_000).map(lambda number: number / 1000)
failures = st.dictionaries(st.sampled_from([reason.name for reason in Reason]), st.integers(1, 10**9), max_size=8)
notes = st.builds(
    Attempt,
    st.just("0001-000000-n1-0000"),
    st.just("0a1b2c3d"),
    times,
    times,
    st.integers(0, 10**9),
    st.integers(0, 10**15),
    st.integers(0, 10**9),
    st.sampled_from(AttemptEnd),
    failures,
)


@given(notes)
def test_a_key_gives_back_what_was_noted(note: Attempt) -> None:
    assert attempt_from_key(note_key("copy", note)) == note
    assert attempt_from_key(attempt_key("copy", note)) == note


@given(notes, notes)
def test_the_newest_notes_come_first_in_the_order_of_keys(one: Attempt, other: Attempt) -> None:
    keys = sorted([note_key("copy", one), note_key("copy", other)])
    assert age_of(keys[0]) <= age_of(keys[1])
    first, last = (attempt_from_key(key).ended for key in keys)
    assert first is not None
    assert last is not None
    assert first > last - NOTE_EVERY_SECONDS


def test_a_key_is_no_longer_than_s3_allows_however_many_reasons_there_are() -> None:
    every = {reason.name: 10**9 for reason in Reason}
    key = note_key("verify", Attempt("s" * 60, "n" * 8, 1e9, 2e9, 10**9, 10**15, 10**9, AttemptEnd.AT_WORK, every))
    assert len(f"runs/{'r' * 80}/verification/{key}") <= 1_024
    assert len(attempt_from_key(key).failures) == REASONS_NOTED


def task(seconds: float, step: float = 1.0) -> tuple[MemoryStore, list[Attempt]]:
    """The notes of a task that passes on an entry of 10 bytes each second, in the order of keys."""
    store, clock = MemoryStore(), ManualClock()
    ledger = Ledger(store, "run-1")
    task_notes = TaskNotes("copy", "s1", ledger, "n1", clock.now, cursor=100)
    for _ in task_notes.along(((number, 10) for number in range(int(seconds / step))), int):
        clock.sleep(step)
    return store, [attempt_from_key(key) for key in ledger.keys(notes_prefix("copy"))]


def test_a_short_task_leaves_no_note() -> None:
    assert task(FIRST_NOTE_SECONDS - 0.1)[1] == []


def test_a_long_task_leaves_a_note_after_5_seconds_after_10_and_then_every_10() -> None:
    found = sorted(task(36.0)[1], key=lambda note: note.ended or 0.0)
    assert [(note.ended or 0.0) - note.began for note in found] == [5.0, 10.0, 20.0, 30.0]
    assert [(note.entries, note.bytes, note.cursor) for note in found] == [
        (6, 60, 106),
        (11, 110, 111),
        (21, 210, 121),
        (31, 310, 131),
    ]
    assert {note.end for note in found} == {AttemptEnd.AT_WORK}


def test_an_hour_of_a_task_costs_360_requests() -> None:
    assert len(task(3_600.0)[1]) == 360
    assert len(task(60.0)[1]) == 6


def test_a_note_that_can_not_be_written_is_left_out() -> None:
    class Down(MemoryStore):
        def put(self, key: str, data: bytes) -> None:
            raise Transient("no answer")

    clock = ManualClock()
    task_notes = TaskNotes("copy", "s1", Ledger(Down(), "run-1"), "n1", clock.now)
    passed = []
    for index, _ in task_notes.along(((number, 1) for number in range(9)), int):
        clock.sleep(10)
        passed.append(index)
    assert passed == list(range(9))


def test_the_end_of_a_listing_is_noted_if_it_was_noted_before() -> None:
    store, clock = MemoryStore(), ManualClock()
    ledger = Ledger(store, "run-1")
    task_notes = TaskNotes("list", "0001-000000", ledger, "n1", clock.now)
    task_notes.end(Count(3, 30))
    assert not list(ledger.keys(""))
    task_notes.write(Count(3, 30), {})
    clock.sleep(20)
    task_notes.end(Count(7, 70))
    assert [attempt_from_key(key).entries for key in ledger.keys(notes_prefix("list"))] == [7, 3]


def slow_world() -> World:
    """Sixty files, two of which have changed since they were listed, and a clock that makes the copy take a while."""
    world = World()
    source = world.source
    assert isinstance(source, MemoryTree)
    for number in range(60):
        source.put(f"f{number:02d}", Kind.FILE, b"x" * 100)
    return world


def only_shard(world: World) -> Shard:
    (shard,) = shards_of(world.ledger)
    return shard


def copied_slowly(world: World) -> Shard:
    world.list_all(world.plan())
    partition_shards(world.context())
    assert isinstance(world.source, MemoryTree)
    for number in (0, 1):
        world.source.put(f"f{number:02d}", Kind.FILE, b"changed")
    world.clock.step = 0.3
    shard = only_shard(world)
    assert copy_shard(shard, world.context())["done"]
    world.clock.step = 0.0
    return shard


def test_a_copy_notes_entries_bytes_and_failures_by_reason() -> None:
    world = slow_world()
    shard = copied_slowly(world)
    found = [attempt_from_key(key) for key in world.ledger.keys(notes_prefix("copy"))]
    assert len(found) >= 2
    latest = max(found, key=lambda note: note.ended or 0.0)
    assert latest.shard_id == shard.id
    assert 2 < latest.entries == latest.cursor <= 60
    assert latest.failures == {"SOURCE_CHANGED": 2}
    assert latest.bytes >= 100 * (latest.entries - 2)


def test_the_record_of_an_attempts_end_counts_its_failures_by_reason() -> None:
    world = slow_world()
    copied_slowly(world)
    ends = [attempt_from_key(key) for key in world.ledger.keys("attempts/copy/")]
    assert sum((Counter(one.failures) for one in ends), Counter()) == {"SOURCE_CHANGED": 2}


@pytest.mark.parametrize("lie", [0, 10**9])
def test_no_book_believes_a_note(lie: int) -> None:
    world = slow_world()
    shard = copied_slowly(world)
    note = Attempt(
        shard.id, "liar", world.clock.time, world.clock.time + 5, lie, lie, lie, AttemptEnd.AT_WORK, {"CHECKSUM": 9}
    )
    world.ledger.mark(note_key("copy", note))
    world.finish_all()
    totals = world.end()["totals"]
    assert (totals["copied"]["entries"], totals["failed"]["entries"]) == (58, 2)


def test_a_listing_notes_what_it_has_listed() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    for number in range(2_000):
        world.source.put(f"f{number:04d}", Kind.FILE, b"x")
    state = world.plan()
    world.clock.step = 2.0
    world.list_all(state)
    found = [attempt_from_key(key) for key in world.ledger.keys(notes_prefix("list"))]
    assert found
    assert all(0 < note.entries <= 2_000 for note in found)
