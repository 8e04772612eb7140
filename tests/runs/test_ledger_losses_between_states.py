"""An object of its own ledger that a run loses between two states: it ends with an error, not green, or right."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.copying.record_shard_failure import record_shard_failure
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.facts import tuning
from fanout.listing.gather_segments import gather_segments
from fanout.listing.list_segment import list_segment
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import FanoutError, LedgerBroken, NotFound
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.verifying.verify_shard import verify_shard
from tests.support.flow import World
from tests.support.ledger_losses import DAMAGES, REQUEST, Snapshot, filled, keys_of, verdict_on
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore

State = Callable[[World], object]
Item = TypeVar("Item")
EXTRAS = ("old/", "old/a", "old/b", "d0/old")


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", 12)
    monkeypatch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", 12)
    monkeypatch.setattr("fanout.report.page.render_report", lambda _: "")  # takes most of the time of so small a run


def items(world: World, key: str, make: Callable[[Json], Item]) -> list[Item]:
    """What a Map reads by itself, so that no ledger looks at it, and each function makes of its event."""
    try:
        found = json.loads(world.store.get(world.ledger.prefix + key))
        return [make(row) for row in found] if isinstance(found, list) else []
    except (NotFound, ValueError, KeyError, TypeError) as error:
        raise LedgerBroken("the Map fails; start the request again") from error


def list_rounds(world: World) -> None:
    number = 1
    while True:
        for segment in items(world, f"segments/round-{number:04d}.json", partial(convert, type=Segment)):
            list_segment(segment, world.context())
        number += 1
        if not gather_segments(number - 1, world.context())["count"]:
            return


def on_shards(work: Callable[[Shard, World], Json], key: str = "shards.json") -> State:
    """A Map over shards, which tolerates that some of them fail."""

    def state(world: World) -> None:
        for shard in items(world, key, lambda row: convert(row["shard"], Shard)):
            try:
                while not work(shard, world)["done"]:
                    pass
            except FanoutError:
                if key == "shards.json":
                    record_shard_failure(shard, {"Error": "LedgerBroken", "Cause": "it is gone"}, world.context())

    return state


STATES: dict[str, State] = {
    "plan": lambda world: world.plan({**REQUEST, "verify": "copied"}),
    "list": list_rounds,
    "partition": lambda world: partition_shards(world.context()),
    "copy": on_shards(lambda shard, world: copy_shard(shard, world.context())),
    "finish": lambda world: world.finish_all(),
    "verify": on_shards(lambda shard, world: verify_shard(shard, world.context())),
}
SYNC: dict[str, State] = {
    **STATES,
    "plan": lambda world: world.plan({**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 99}}),
    "begin deletion": lambda world: begin_deletion(world.context()),
    "delete": on_shards(lambda shard, world: delete_shard(shard, world.context()), "deletions.json"),
    "remove directories": lambda world: _removed(world),
}
del SYNC["verify"]


def _removed(world: World) -> None:
    while not remove_directories(world.context())["done"]:
        pass


def snapshots(states: dict[str, State], world: World) -> dict[str, Snapshot]:
    """The world after each state."""
    found = {}
    for name, state in states.items():
        state(world)
        found[name] = Snapshot.of(world)
    return found


def problems(states: dict[str, State], after: str, snapshot: Snapshot, damage: str) -> dict[str, str]:
    names = list(states)
    rest = [states[name] for name in names[names.index(after) + 1 :]]

    def run(world: World) -> Json:
        for state in rest:
            state(world)
        return world.end()

    found = {}
    for key in keys_of(snapshot):
        changed = None if damage == "lost" else DAMAGES[damage](snapshot.objects[key])
        if changed is None and damage != "lost":
            continue
        world = snapshot.restored("run-1", {key: changed})
        try:
            found[key] = verdict_on(world, run)
        except (ValueError, KeyError, TypeError, AttributeError, EOFError, OSError, zlib.error) as error:
            found[key] = f"{type(error).__name__} out of a function: {error}"
        if not found[key] and states is SYNC and succeeded(world) and deleted(world) != len(EXTRAS):
            found[key] = f"green, and {deleted(world)} of {len(EXTRAS)} deleted"
    return {key: problem for key, problem in found.items() if problem}


def succeeded(world: World) -> bool:
    assert isinstance(world.store, MemoryStore)
    key = "runs/run-1/summary.json"
    return key in world.store._objects and json.loads(world.store.get(key))["status"] == "SUCCEEDED"


def deleted(world: World) -> int:
    found: int = world.ledger.read_json("summary.json")["totals"]["deleted"]["entries"]
    return found


@pytest.mark.parametrize("damage", ["lost", *DAMAGES])
def test_no_run_is_green_and_wrong_after_an_object_of_its_ledger_was_lost_or_broken(damage: str) -> None:
    found = {
        after: problems(STATES, after, snapshot, damage) for after, snapshot in snapshots(STATES, filled()).items()
    }
    assert not {after: problem for after, problem in found.items() if problem}


@pytest.mark.parametrize("damage", ["lost", "flipped", "a list"])
def test_no_sync_is_green_and_wrong_after_an_object_of_its_ledger_was_lost_or_broken(damage: str) -> None:
    world = filled()
    assert isinstance(world.destination, MemoryTree)
    world.destination.put("d0/f0", Kind.FILE, b"older")  # else all that the destination holds would go
    for path in EXTRAS:
        world.destination.put(path, Kind.DIRECTORY if path.endswith("/") else Kind.FILE, b"old")
    found = {after: problems(SYNC, after, snapshot, damage) for after, snapshot in snapshots(SYNC, world).items()}
    assert not {after: problem for after, problem in found.items() if problem}
