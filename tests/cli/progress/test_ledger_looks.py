"""What a watcher finds in a run's ledger, phase by phase, and with how many requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fanout.copying.copy_shard import copy_shard
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import DestinationBusy
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.shards.partitioned import SHARDS, MapItem, shards_of
from fanout.shards.tasks.attempt import Attempt, AttemptEnd, attempt_key, note_key
from fanout.turns.write_turn import WriteTurns
from fanout_cli.progress.ledger_looks import LedgerLooks
from fanout_cli.progress.map_runs import MapCounts
from fanout_cli.progress.run_progress import progress_of
from fanout_cli.progress.stage import PAGE_KEYS, SECONDS_A_PAGE, Stage
from fanout_cli.progress.text import line_of, phases_line
from tests.cli.progress.runs import RATES
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore


class CountingStore(MemoryStore):
    """Counts reads, and pages of a thousand keys, of which one is asked for when its first key is."""

    def __init__(self) -> None:
        super().__init__()
        self.gets: list[str] = []
        self.pages = 0

    def get(self, key: str) -> bytes:
        self.gets.append(key)
        return super().get(key)

    def list(self, prefix: str) -> Iterator[str]:
        self.pages += 1
        for number, key in enumerate(super().list(prefix)):
            self.pages += number > 0 and number % PAGE_KEYS == 0
            yield key


def small_world(files: int = 40) -> World:
    world = World(store=CountingStore())
    assert isinstance(world.source, MemoryTree)
    for number in range(files):
        world.source.put(f"f{number:04d}", Kind.FILE, b"x" * 100)
    return world


def store_of(world: World) -> CountingStore:
    assert isinstance(world.store, CountingStore)
    return world.store


def at(world: World) -> float:
    return world.clock.time - 1_000_000.0


def test_a_run_is_followed_from_its_plan_to_its_summary() -> None:
    world = small_world()
    looks, said = LedgerLooks(world.ledger), []

    def look() -> None:
        world.clock.sleep(5)
        said.append(phases_line(progress_of(looks.look(at(world)))))

    look()
    state = world.plan()
    look()
    world.list_all(state)
    look()
    partition_shards(world.context())
    look()
    (shard,) = shards_of(world.ledger)
    world.ledger.mark(note_key("copy", Attempt(shard.id, "n", 1e6, 1e6 + 5, 10, 1_000, 10, AttemptEnd.AT_WORK)))
    look()
    assert copy_shard(shard, world.context())["done"]
    look()
    world.finish_all()
    look()
    world.end()
    look()
    assert said == [
        "plan ... | next: list, copy, finish, summarise",
        "plan ok | list ... | next: copy, finish, summarise",
        "plan ok | list 40 | next: copy, finish, summarise",
        "plan ok | list 40 | copy 0% | next: finish, summarise",
        "plan ok | list 40 | copy 25% | next: finish, summarise",
        "plan ok | list 40 | copy 100% | next: finish, summarise",
        "plan ok | list 40 | copy ok | finish ... | next: summarise",
        "plan ok | list 40 | copy ok | finish ok | summarise ...",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"mode": "verify"}, "plan ok | list 40 | verify 100% | next: summarise"),
        ({"verify": "copied"}, "plan ok | list 40 | copy ok | finish ok | verify 100% | next: summarise"),
        ({"verify": "all"}, "plan ok | list 40 | copy ok | finish ok | verify 100% | next: summarise"),
    ],
)
def test_a_verification_has_a_share_of_its_own(fields: Json, expected: str) -> None:
    world = small_world()
    world.list_all(world.plan({**REQUEST, **fields}))
    what = partition_shards(world.context())
    if what["next"] != "verify":
        world.copy_all()
        world.finish_all()
    if what["verify"] == "all":
        world.verify_trees()
    else:
        world.verify_all()
    found = LedgerLooks(world.ledger).look(10.0, MapCounts("VerifyShards", 1, 0, 0, 1))
    assert phases_line(progress_of(found)) == expected
    assert found.running == 1


def test_before_its_turn_it_says_for_whom_it_waits() -> None:
    class GoesOn:
        def running(self, execution: str) -> bool:
            return True

    first = small_world()
    first.turns = WriteTurns(store_of(first), GoesOn(), first.clock)
    first.plan({**REQUEST, "destination": "efs:///slow"})
    second = first.next_run("run-2")
    with pytest.raises(DestinationBusy):
        second.plan({**REQUEST, "destination": "efs:///slow/in"})
    progress = progress_of(LedgerLooks(second.ledger).look(0.0))
    assert "waiting for run-1, which writes efs://data/slow" in line_of(progress)


def test_a_listing_is_counted_while_it_goes_on_and_no_note_of_it_twice() -> None:
    world = small_world()
    state = world.plan()
    for nonce, segment, entries in (("n1", "0001-000000", 700), ("n2", "0001-000001", 500)):
        for seconds in (5, 10):
            note = Attempt(segment, nonce, 1e6, 1e6 + seconds, entries + seconds, 9, 0, AttemptEnd.AT_WORK)
            world.ledger.mark(note_key("list", note))
    looks = LedgerLooks(world.ledger)
    found = looks.look(0.0, MapCounts("ListTree", 64, 3, 0, 40))
    assert (found.listed.count.entries, found.listed.segments, found.listed.total_segments) == (1_220, 3, 64)
    assert found.running == 40
    assert looks.look(5.0).listed.count.entries == 1_220
    world.list_all(state)
    assert looks.look(10.0).listed.count.entries == 40


def test_failures_of_the_listing_and_of_tasks_are_told() -> None:
    world = small_world()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a//b", Kind.FILE, b"x")
    world.list_all(world.plan())
    world.source.put("f0001", Kind.FILE, b"changed")
    world.copy_all()
    found = progress_of(LedgerLooks(world.ledger).look(0.0))
    assert found.failures == {"rejected by the listing": 1, "SOURCE_CHANGED": 1}


def filled(world: World, tasks: int, spans: int) -> None:
    """Notes of so many tasks in each of so many spans of time, and their begins."""
    for number in range(tasks):
        begun = Attempt(f"s{number:05d}", "n", 1e9)
        world.ledger.mark(attempt_key("copy", begun))
        for span in range(spans):
            note = Attempt(begun.shard_id, "n", 1e9, 1e9 + 10 * span + 5, span, span, span, AttemptEnd.AT_WORK)
            world.ledger.mark(note_key("copy", note))


def copying(shards: int) -> World:
    world = small_world()
    world.list_all(world.plan())
    partition_shards(world.context())
    items = [MapItem(Shard(f"s{number:05d}", "k", 100, 100, 9.0)) for number in range(shards)]
    world.ledger.write(SHARDS, items)
    return world


def test_the_notes_of_a_thousand_tasks_are_two_requests_however_long_they_have_worked() -> None:
    world = copying(500)
    filled(world, 500, 30)
    stage, store = Stage(world.ledger), store_of(world)
    stage.progress("copy", RATES, 0.0, 0)
    for second in (5.0, 10.0, 15.0):
        store.pages, store.gets = 0, []
        found = stage.progress("copy", RATES, second, 0)
        assert found is not None
        assert found.done == Count(500 * 29, 500 * 29)
        assert (store.gets, store.pages) == ([], 1 + 2)  # the attempts, and two spans of 500 notes with the key after


def test_the_records_of_very_many_attempts_are_listed_less_often() -> None:
    world = copying(10)
    for number in range(20 * PAGE_KEYS):
        world.ledger.mark(attempt_key("copy", Attempt(f"t{number:06d}", "n", 1e9)))
    stage, store = Stage(world.ledger), store_of(world)
    pages = []
    for look in range(20):
        store.pages = 0
        stage.progress("copy", RATES, look * 5.0, 0)
        pages.append(store.pages)
    assert sum(pages) <= 20 * 5.0 / SECONDS_A_PAGE + 20 + 2 * 20
    assert pages[0] > 20


def test_a_look_reads_no_document_twice() -> None:
    world = small_world()
    world.list_all(world.plan())
    world.copy_all()
    looks, store = LedgerLooks(world.ledger), store_of(world)
    looks.look(0.0)
    store.gets, store.pages = [], 0
    looks.look(5.0)
    assert store.gets == []
    assert store.pages == 3  # phases, attempts, notes


@pytest.mark.parametrize(
    ("now", "expected"),
    [(1_795_467_600.0 - 60, "paused until 22:00 Europe/Berlin"), (1_795_467_600.0, "")],
)
def test_outside_of_its_window_a_run_is_paused(now: float, expected: str) -> None:
    world = World()
    world.list_all(world.plan({**REQUEST, "limits": {"window": "22:00-06:00 Europe/Berlin"}}))
    line = line_of(progress_of(LedgerLooks(world.ledger, lambda: now).look(0.0)))
    assert ("paused until" in line) is bool(expected) and expected in line
