"""What the tests of a resumed run share: trees that count how often they are listed, and the next run."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import convert

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.model.shard import Shard
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemoryTarget

SMALL_SHARDS = {**REQUEST, "limits": {"shard_seconds": 0.1, "split_bytes": tuning.BLOCK_BYTES}}


class CountingTree(MemoryTree):
    """A tree that counts how often it is listed, and of which ``broken`` paths cannot be written."""

    def __init__(self, changes: Iterator[int]) -> None:
        super().__init__(changes)
        self.listed: list[Segment] = []
        self.broken: set[str] = set()
        self.created: list[str] = []

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        self.listed.append(segment)
        return super().list(segment, prunes)

    def create(self, entry: Entry, attributes: Attributes) -> MemoryTarget:
        if entry.path in self.broken:
            raise ItemError(Reason.NO_SPACE, "full")
        self.created.append(entry.path)
        return super().create(entry, attributes)


def filled(count: int = 30, big: int = 0) -> World:
    world = World()
    world.source, world.destination = CountingTree(world.changes), CountingTree(world.changes)
    for number in range(count):
        world.source.put(f"d{number % 3}/f{number:03d}", Kind.FILE, b"x" * number)
    for number in range(big):
        world.source.put(f"big{number}", Kind.FILE, bytes([number]) * (2 * tuning.BLOCK_BYTES + 1))
    return world


def trees(world: World) -> tuple[CountingTree, CountingTree]:
    assert isinstance(world.source, CountingTree)
    assert isinstance(world.destination, CountingTree)
    return world.source, world.destination


def contents(tree: MemoryTree) -> dict[str, bytes]:
    return {path: stored.data for path, stored in tree.contents().items()}


def resumed(world: World, run_id: str, request: Json | None = None) -> tuple[World, Json]:
    """The next run, resuming this one, with nothing listed; and its summary."""
    source, destination = trees(world)
    source.listed.clear()
    destination.listed.clear()
    destination.created.clear()
    following = world.next_run(run_id)
    return following, following.run({"resume_from": world.run_id, **(request or {})})


def shards_of(world: World) -> list[Shard]:
    return [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
