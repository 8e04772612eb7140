"""Runs that end at some point, and what may happen to each object of their ledgers."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.facts import tuning
from fanout.listing.gather_segments import gather_segments
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import FanoutError, InvalidRequest, ItemError, LedgerBroken
from fanout.model.outcome import Reason
from fanout.model.segment import Prunes, Segment, no_pruning
from fanout.partition.partition_shards import partition_shards
from fanout.resuming.carry_over import list_or_carry_over
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_files import Stored
from tests.support.memory_store import MemoryStore
from tests.support.resumed import shards_of

REQUEST: Json = {
    "source": "efs:///in",
    "destination": "efs:///out",
    "limits": {"shard_seconds": 0.1, "split_bytes": tuning.BLOCK_BYTES},
}


class LinkedTree(MemoryTree):
    """A tree in which names that end in ``-N`` are names of one file, and some paths cannot be written."""

    broken: frozenset[str] = frozenset()

    def list(self, segment: Segment, prunes: Prunes = no_pruning) -> Iterator[Entry]:
        for entry in super().list(segment, prunes):
            name, _, number = entry.path.rpartition("-")
            yield entry if not number.isdecimal() else _named(entry, name)

    def create(self, entry: Entry, attributes: Attributes):  # type: ignore[no-untyped-def]
        if entry.path in self.broken:
            raise ItemError(Reason.NO_SPACE, "full")
        return super().create(entry, attributes)

    def make_directory(self, entry: Entry, attributes: Attributes) -> None:
        """Open until its attributes are set at the end."""
        if entry.path not in self.contents():
            super().make_directory(entry, Attributes(0o700))


def _named(entry: Entry, inode: str) -> Entry:
    return Entry(entry.path, entry.kind, entry.size, entry.mtime_ns, entry.changed_ns, entry.etag, inode)


def filled(run_id: str = "run-1") -> World:
    """Directories with modes of their own, files, names of one file, and a file in blocks."""
    world = World(run_id=run_id)
    source, destination = LinkedTree(world.changes), LinkedTree(world.changes)
    for directory in range(3):
        source.put(f"d{directory}/", Kind.DIRECTORY, b"", Attributes(0o751 + directory, 1, 2, 10**18))
        for number in range(6):
            source.put(f"d{directory}/f{number}", Kind.FILE, b"x" * (number + 1), Attributes(0o640, 1, 2, 10**18))
    for number in range(3):
        source.put(f"d1/name-{number}", Kind.FILE, b"shared", Attributes(0o640, 1, 2, 10**18))
    source.put("big", Kind.FILE, b"b" * (tuning.BLOCK_BYTES + 1), Attributes(0o640, 1, 2, 10**18))
    world.source, world.destination = source, destination
    return world


def _listed(world: World) -> None:
    world.list_all(world.plan(REQUEST))


def _planned(world: World) -> None:
    world.plan(REQUEST)


def _half_listed(world: World) -> None:
    """One round is closed, and of the next one a segment is listed."""
    reference = world.plan(REQUEST)["list"]
    for _ in range(2):
        rows = world.ledger.read_json(reference["key"].removeprefix(world.ledger.prefix))
        for row in rows[: None if reference["round"] == 1 else 1]:
            list_or_carry_over(convert(row, Segment), world.context())
        if reference["round"] == 1:
            reference = gather_segments(1, world.context())


def _half_copied(world: World) -> None:
    """Every other shard is copied, and nothing is finished."""
    _listed(world)
    partition_shards(world.context())
    for shard in shards_of(world)[::2]:
        copy_shard(shard, world.context())


def _copied(world: World) -> None:
    """All is copied, nothing is finished."""
    _listed(world)
    world.copy_all()


def _failed(world: World) -> None:
    """The whole run, with an entry that failed."""
    assert isinstance(world.destination, LinkedTree)
    world.destination.broken = frozenset({"d2/f3"})
    world.run(REQUEST)
    world.destination.broken = frozenset()


def _resumed(world: World) -> None:
    """A run that resumed another one, with an entry that failed again."""
    _failed(world)
    world.run_id = "run-2"
    assert isinstance(world.destination, LinkedTree)
    world.destination.broken = frozenset({"d2/f3"})
    world.run({"resume_from": "run-1"})
    world.destination.broken = frozenset()


STOPS: dict[str, Callable[[World], None]] = {
    "planned": _planned,
    "half listed": _half_listed,
    "listed": _listed,
    "half copied": _half_copied,
    "copied": _copied,
    "failed": _failed,
    "resumed": _resumed,
}


def _truncated(data: bytes) -> bytes | None:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes | None:
    """The last digit of a document is another one, which still is JSON; of what is compressed, a bit in the middle."""
    if not data:
        return None
    digits = [at for at, byte in enumerate(data) if 0x30 <= byte <= 0x39]
    at = len(data) // 2 if data[:2] == b"\x1f\x8b" or not digits else digits[-1]
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _letter_flipped(data: bytes) -> bytes | None:
    """A letter in the first text of a document, a path or an id, is another one."""
    at = next((at for at in range(data.find(b': "') + 3, len(data)) if data[at : at + 1].isalpha()), None)
    return None if at is None or data[:2] == b"\x1f\x8b" else data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _fewer_rows(data: bytes) -> bytes | None:
    """A file of rows that is whole, but holds one row less."""
    if data[:2] != b"\x1f\x8b":
        return None
    return gzip.compress(b"".join(gzip.decompress(data).splitlines(keepends=True)[:-1]), mtime=0)


DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "truncated": _truncated,
    "empty": lambda _: b"",
    "flipped": _flipped,
    "a letter flipped": _letter_flipped,
    "one row less": _fewer_rows,
    "another document": lambda data: None if data[:2] == b"\x1f\x8b" else b"{}",
    "a list": lambda data: None if data[:2] == b"\x1f\x8b" else b"[]",
    "no JSON at all": lambda data: None if data[:2] == b"\x1f\x8b" else b"\xff\xfe<html>",
}


@dataclass
class Snapshot:
    """A world as it stood, to be put back."""

    world: World
    objects: dict[str, bytes]
    entries: dict[str, Stored]
    begun: dict[str, dict[int, bytes]]

    @staticmethod
    def of(world: World) -> Snapshot:
        store, destination = world.store, world.destination
        assert isinstance(store, MemoryStore)
        assert isinstance(destination, MemoryTree)
        begun = {token: dict(blocks) for token, blocks in destination._begun.items()}
        return Snapshot(world, dict(store._objects), destination.contents(), begun)

    def restored(self, run_id: str, changed: dict[str, bytes | None]) -> World:
        """The next run over the world as it stood, some of whose objects are others or gone."""
        objects = {key: data for key, data in (self.objects | changed).items() if data is not None}
        store, destination = MemoryStore(), LinkedTree(self.world.changes)
        store._objects = objects
        destination._entries = dict(self.entries)
        destination._begun = {token: dict(blocks) for token, blocks in self.begun.items()}
        world = self.world.next_run(run_id)
        world.store, world.destination = store, destination
        return world


def keys_of(snapshot: Snapshot) -> list[str]:
    """The objects of the ledger that the world's run has."""
    return sorted(key for key in snapshot.objects if key.startswith(snapshot.world.ledger.prefix))


def tree_of(tree: object) -> dict[str, tuple[bytes, int | None, int | None]]:
    """What counts of a tree: bytes, modes and times."""
    assert isinstance(tree, MemoryTree)
    return {
        path: (stored.data, stored.attributes.mode, stored.attributes.mtime_ns)
        for path, stored in tree.contents().items()
    }


def is_about_the_ledger(error: FanoutError) -> bool:
    """Whether an error says that the ledger, or the request made of it, is broken, and what to do."""
    return isinstance(error, LedgerBroken | InvalidRequest) and "start the request again" in str(error)


def verdict_on(world: World, run: Callable[[World], Json]) -> str:
    """Empty if the run told the truth: an error of the ledger or request with a remedy, no success, or equal trees.

    Any other error goes through: it is no error of a function.
    """
    try:
        summary = run(world)
    except FanoutError as error:
        return "" if is_about_the_ledger(error) else f"{type(error).__name__}: {error}"
    if summary["status"] != "SUCCEEDED":
        return ""
    if not summary["balanced"]:
        return "green and does not balance"
    here, there = tree_of(world.source), tree_of(world.destination)
    if here != there:
        differing = sorted(path for path in here | there if here.get(path) != there.get(path))
        return f"green, and {len(differing)} entries differ: {differing[:3]}"
    listed = summary["totals"]["listed"]["entries"]
    return "" if listed == len(here) else f"green, and {listed} of {len(here)} listed"
