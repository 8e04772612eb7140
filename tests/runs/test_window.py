"""``limits.window``: outside of it a run does nothing, and what it does in all is what it would do without."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace

from fanout.copying.copy_shard import copy_shard
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.request.parts.window import parse_window
from fanout.request.plan import Plan
from fanout.shards.record import each_once, records
from fanout.work.context import EndPorts
from fanout.work.windows import LAST_SECONDS, OPENING_SECONDS, held_to_window, paused_until
from tests.runs.windowed import Killed, WindowedWorld, not_done
from tests.support.flow import REQUEST, ManualClock, World
from tests.support.memory import MemoryTree

WINDOW = "22:00-22:30 Europe/Berlin"
OPEN = 1_800.0  # that it is open
DAY = 86_400.0
# 2026-11-23T21:00:00Z: the window opens.
OPENS = 1_795_467_600.0


def filled(world: World, files: int = 60) -> World:
    assert isinstance(world.source, MemoryTree) and isinstance(world.destination, MemoryTree)
    for number in range(files):
        world.source.put(f"d{number % 4}/f{number:03d}", Kind.FILE, b"x" * (50 + number))
    world.destination.put("d0/f000", Kind.FILE, b"old")
    for number in range(8):
        world.destination.put(f"old/f{number}", Kind.FILE, b"extra")
    return world


def windowed(step: float, began: float = OPENS) -> WindowedWorld:
    clock = ManualClock(step=step)
    clock.time = began
    world = WindowedWorld(clock=clock, window=WINDOW)
    filled(world)
    return world


def request(mode: str = "sync", verify: str = "copied", **limits: Any) -> Json:
    return {
        **REQUEST,
        "mode": mode,
        "verify": verify,
        "delete_guard": {"max_percent": 100},
        "limits": {"shard_seconds": 0.1, "window": WINDOW, **limits},
    }


def contents(world: World) -> dict[str, bytes]:
    assert isinstance(world.destination, MemoryTree)
    return {path: found.data for path, found in world.destination.contents().items()}


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 6)


def test_a_sync_over_many_closings_ends_as_one_without_a_window(small_shards: None) -> None:
    """The clock moves with each look at it, so that the run takes several windows."""
    free = filled(World(clock=ManualClock()))
    expected = free.run({**request(), "limits": {"shard_seconds": 0.1}})
    world = windowed(step=15.0)
    summary = world.run(request())
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True), summary
    assert contents(world) == contents(free)
    assert len(set(world.pauses)) >= 3
    assert summary["totals"] == expected["totals"]


def test_no_task_works_while_the_window_is_closed(small_shards: None) -> None:
    world = windowed(step=15.0)
    world.run(request())
    hours = parse_window(WINDOW)
    assert len(world.tasks) > 20
    for began, ended in world.tasks:
        assert hours.is_open(began) and hours.changes_at(began) - began > LAST_SECONDS - 30
        assert ended <= hours.changes_at(began) + 15.0 * tuning.CLIENT_OPERATIONS_IN_FLIGHT


def test_a_run_that_begins_outside_waits_for_the_opening_before_it_touches_an_end(small_shards: None) -> None:
    world = windowed(step=0.0, began=OPENS - 10_000)
    state = world.plan(request())
    touched: list[str] = []

    @dataclass
    class Watched:
        tree: Any
        name: str

        def __getattr__(self, name: str) -> Any:
            touched.append(f"{self.name}.{name} at {world.clock.time}")
            return getattr(self.tree, name)

    source, destination = world.source, world.destination
    world.source, world.destination = Watched(source, "source"), Watched(destination, "destination")
    (row,) = world.ledger.read_json(state["list"]["key"].removeprefix(world.ledger.prefix))
    assert row
    began = world.clock.time
    world.list_all(state)
    assert world.clock.time >= OPENS > began
    assert touched and all(float(one.rpartition(" ")[2]) >= OPENS for one in touched)
    assert world.pauses == ["2026-11-23T21:00:02Z"]


def test_a_paused_task_reads_neither_end_and_no_ledger() -> None:
    world = windowed(step=0.0, began=OPENS - OPEN)

    def refuse(*_: object) -> NoReturn:
        raise AssertionError("is not to be touched")

    context = replace(world.context(), ends=EndPorts(source=refuse, destination=refuse), ledger=None)
    answer = held_to_window(WINDOW, context, refuse, not_done)
    assert answer == {"done": False, "until": "2026-11-23T21:00:02Z"}


@pytest.mark.parametrize("seed", range(6))
def test_kills_and_closings_together_lose_nothing(
    small_shards: None, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """At random writes to the ledger a task is killed, before or after the write."""
    world = windowed(step=15.0)
    put, kills, chance = world.store.put, 0, random.Random(seed)

    def killing(key: str, data: bytes) -> None:
        nonlocal kills
        kill = world.at_work and chance.random() < 0.05
        if not kill or chance.random() < 0.5:
            put(key, data)
        if kill:
            kills += 1
            raise Killed

    monkeypatch.setattr(world.store, "put", killing)
    summary = world.run(request())
    assert kills > 3 and len(set(world.pauses)) >= 3
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True), summary
    free = filled(World(clock=ManualClock()))
    free.run({**request(), "limits": {"shard_seconds": 0.1}})
    assert contents(world) == contents(free)


def test_an_entry_for_which_the_window_leaves_no_time_is_left_and_not_failed() -> None:
    """Without a window a shard of which a function copies nothing has entries that take too long."""
    world = windowed(step=0.0)
    world.list_all(world.plan(request(mode="copy")))
    partition_shards(world.context())
    (row, *_) = world.ledger.read_json("shards.json")
    shard = Shard(**{**row["shard"], "blocks": None})

    def slow(step: Any) -> Json:
        world.clock.step = 4_000.0  # the first look at the clock is after the deadline
        return copy_shard(shard, step)

    world.clock.time = OPENS + OPEN - 90
    answer = held_to_window(WINDOW, world.context(), slow, not_done)
    assert answer == {"cursor": 0, "done": False, "until": ""}
    world.clock.step = 0.0
    world.clock.time = OPENS + DAY
    assert held_to_window(WINDOW, world.context(), lambda step: copy_shard(shard, step), not_done)["done"]
    reasons = {outcome.reason for _, _, outcome in each_once(records(shard.id, world.ledger), world.ledger)}
    assert Reason.OUT_OF_TIME not in reasons


@pytest.mark.parametrize(
    ("seconds", "until"),
    [
        (-1.0, "2026-11-23T21:00:02Z"),
        (0.0, ""),
        (OPEN - LAST_SECONDS - 1, ""),
        (OPEN - LAST_SECONDS, "2026-11-24T21:00:02Z"),
        (OPEN, "2026-11-24T21:00:02Z"),
    ],
)
def test_no_task_begins_in_the_last_minute(seconds: float, until: str) -> None:
    assert paused_until(WINDOW, OPENS + seconds) == until
    assert paused_until("", OPENS + seconds) == ""


def test_the_clock_of_the_wait_may_be_ahead_of_a_functions() -> None:
    assert paused_until(WINDOW, OPENS + OPENING_SECONDS - 2.0) == ""


def test_the_deadline_is_the_closing_and_max_seconds_count_the_pauses() -> None:
    world = windowed(step=0.0)
    world.plan(request(max_seconds=7_200))
    found: list[Any] = []

    def work(step: Any) -> Json:
        found.append(step)
        return {}

    world.clock.time = OPENS + OPEN - 300
    held_to_window(WINDOW, world.context(), work, not_done)
    world.clock.time = OPENS + 60
    held_to_window(WINDOW, world.context(), work, not_done)
    assert [(one.ends_at, one.cut_short) for one in found] == [(OPENS + OPEN, True), (OPENS + 60 + 900, False)]
    plan: Plan = world.ledger.read_plan()
    assert plan.ends_at == pytest.approx(OPENS + 7_200)
