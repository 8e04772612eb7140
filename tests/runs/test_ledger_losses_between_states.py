"""An object of its own ledger that a run loses between two states: it ends with an error, not green, or right.

The states and their order are those of the state machine. An object is lost or broken before each state that looks at
it: before a state that does not, it is the same as before the next one.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from fanout.facts import tuning
from fanout.flow.walker import StateFailed, Walker, by_class
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import FanoutError, NotFound
from tests.runs.ledger_losses import DAMAGES, REQUEST, Snapshot, filled, is_about_the_ledger, keys_of, verdict_on
from tests.runs.no_threads import without_threads
from tests.support.definitions import definition
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

STATES: Json = definition()["States"]
END = "TransferSucceeded?"
EXTRAS = ("old/", "old/a", "old/b", "d0/old")
COPY: Json = {**REQUEST, "verify": "copied"}
SYNC: Json = {**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 99}}


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    without_threads(monkeypatch)
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", 12)
    monkeypatch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", 12)
    monkeypatch.setattr("fanout.report.page.render_report", lambda _: "")  # takes most of the time of so small a run


class WatchedStore(MemoryStore):
    """A store that knows whose bytes were read, and which keys were listed or looked for."""

    def __init__(self, objects: dict[str, bytes]) -> None:
        super().__init__()
        self._objects = objects
        self.read: set[str] = set()
        self.named: set[str] = set()

    def get(self, key: str) -> bytes:
        """See ``ports.store.WorkStore``."""
        self.read.add(key)
        return super().get(key)

    def list(self, prefix: str) -> Iterator[str]:
        """See ``ports.store.WorkStore``."""
        found = [*super().list(prefix)]
        self.named.update(found)
        return iter(found)

    def put_new(self, key: str, data: bytes) -> bool:
        """See ``ports.store.WorkStore``."""
        self.named.add(key)
        return super().put_new(key, data)


@dataclass
class Before:
    """What a run is before a state, and what the state reads or names of the ledger."""

    state: str
    data: Any
    snapshot: Snapshot
    read: frozenset[str]
    named: frozenset[str]


def walk_by_states(world: World, request: Json) -> Iterator[Before]:
    """A whole run, state by state of the machine."""
    state, data = "PlanTransfer", request
    while state != END:
        before = Snapshot.of(world)
        world.store = store = WatchedStore(dict(before.objects))
        following = world.walk(state, data, *(STATES.keys() - {state}))
        yield Before(state, data, before, frozenset(store.read), frozenset(store.named))
        state, data = following


def items(world: World, _bucket: str, key: str) -> Any:
    """What a Map reads by itself, so that no ledger looks at it."""
    try:
        return json.loads(world.store.get(key))
    except (NotFound, ValueError) as error:
        raise StateFailed("States.ItemReaderFailed", str(error)) from error


def walked_on(before: Before, errors: list[FanoutError], world: World) -> Json:
    """The summary of the run that goes on from there; ``errors`` gets those that states of the root end with."""
    entered: list[str] = []

    def failure(error: Exception) -> StateFailed | None:
        if not isinstance(error, FanoutError):
            return None  # no error of a function: it goes through
        if entered[-1] in STATES:
            errors.append(error)
        return by_class(error)

    execution = {"Id": world.execution, "Name": world.run_id}
    walker = Walker(
        definition(), world.task, partial(items, world), world.clock, execution, failure, entered=entered.append
    )
    walker.walk(before.state, before.data, (END,))
    return world.summary()


def problem_of(before: Before, key: str, changed: bytes | None, deletes: int) -> str:
    """What is wrong about the rest of a run one of whose objects is another, or gone; empty for nothing."""
    world = before.snapshot.restored("run-1", {key: changed})
    errors: list[FanoutError] = []
    try:
        found = verdict_on(world, partial(walked_on, before, errors))
    except StateFailed:  # a state at which the execution ends
        found = ""
    except (ValueError, LookupError, TypeError, AttributeError, EOFError, OSError, zlib.error) as error:
        return f"{type(error).__name__} out of a function: {error}"
    wrong = [f"{type(error).__name__}: {error}" for error in errors if not is_about_the_ledger(error)]
    return found or "".join(wrong[:1]) or said_deleted(world, deletes)


def said_deleted(world: World, deletes: int) -> str:
    """What is wrong about a green run's number of deleted entries."""
    assert isinstance(world.store, MemoryStore)
    if world.ledger.prefix + "summary.json" not in world.store._objects:
        return ""
    summary = world.summary()
    deleted = summary["totals"]["deleted"]["entries"]
    is_right = summary["status"] != "SUCCEEDED" or deleted == deletes
    return "" if is_right else f"green, and {deleted} of {deletes} deleted"


def of_each_kind(damage: str, keys: list[str]) -> list[str]:
    """One of the objects whose keys differ in numbers alone; each damage takes another one."""
    kinds: defaultdict[str, list[str]] = defaultdict(list)
    for key in keys:
        kinds[re.sub("[0-9]+", "#", key)].append(key)
    return [alike[[*DAMAGES].index(damage) % len(alike)] for alike in kinds.values()]


def problems(world: World, request: Json, damage: str, deletes: int = 0) -> dict[tuple[str, str], str]:
    """What is wrong, by state and object, where each object is lost, or one of each kind is broken."""
    found: dict[tuple[str, str], str] = {}
    for before in walk_by_states(world, request):
        keys = keys_of(before.snapshot)
        if damage == "lost":
            broken: dict[str, bytes | None] = {key: None for key in keys if key in before.read | before.named}
        else:
            of_damage = ((key, DAMAGES[damage](before.snapshot.objects[key])) for key in keys if key in before.read)
            can_be = {key: data for key, data in of_damage if data is not None}
            broken = {key: can_be[key] for key in of_each_kind(damage, [*can_be])}
        found |= {(before.state, key): problem_of(before, key, data, deletes) for key, data in broken.items()}
    assert found
    return {place: problem for place, problem in found.items() if problem}


@pytest.mark.parametrize("damage", ["lost", *DAMAGES])
def test_no_run_is_green_and_wrong_after_an_object_of_its_ledger_was_lost_or_broken(damage: str) -> None:
    assert not problems(filled(), COPY, damage)


@pytest.mark.parametrize("damage", ["lost", "flipped", "a list"])
def test_no_sync_is_green_and_wrong_after_an_object_of_its_ledger_was_lost_or_broken(damage: str) -> None:
    world = filled()
    assert isinstance(world.destination, MemoryTree)
    world.destination.put("d0/f0", Kind.FILE, b"older")  # else all that the destination holds would go
    for path in EXTRAS:
        world.destination.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, b"old")
    assert not problems(world, SYNC, damage, len(EXTRAS))
