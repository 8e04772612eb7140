"""A write to a bucket that comes when a later run is over: an object that the later run wrote stays."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.facts import units
from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from fanout.model.entry import NOTHING_THERE, Attributes, Kind
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import World
from tests.support.memory import MemoryEntryCopier, MemoryTree
from tests.support.memory_files import MemoryBlocks

REQUEST: Json = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
INSIDE: Json = {"source": "s3://b-bucket/in/", "destination": "s3://a-bucket/out/"}
BIG = b"o" * (8 * units.MIB + 1)


def source_of(world: World) -> MemoryTree:
    assert isinstance(world.source, MemoryTree)
    return world.source


def stored(world: World) -> dict[str, bytes]:
    assert isinstance(world.destination, MemoryTree)
    return {path: one.data for path, one in world.destination.contents().items()}


def begun(world: World, request: Json) -> World:
    world.list_all(world.plan(request))
    partition_shards(world.context())
    return world


def copy(world: World) -> None:
    for row in world.ledger.read_json("shards.json"):
        copy_shard(convert(row["shard"], Shard), world.context())


def overtaken(world: World, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, request: Json) -> None:
    """In the place of ``name``: a later run copies something newer and ends green, then the call goes on."""
    called = getattr(where, name)

    def late(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        old = source_of(world).contents()["f"]
        source_of(world).put("f", old.entry.kind, b"newer", old.attributes)
        later = world.next_run("run-2")
        assert later.run({**request, "verify": "all"})["status"] == "SUCCEEDED"
        return called(*args, **options)

    monkeypatch.setattr(where, name, late)


ATTRIBUTES = {Kind.FILE: Attributes(), Kind.SYMLINK: Attributes(mode=0o120777)}


@pytest.mark.parametrize("there", [None, b"older"])
@pytest.mark.parametrize("kind", [Kind.FILE, Kind.SYMLINK])
def test_a_late_put(monkeypatch: pytest.MonkeyPatch, kind: Kind, there: bytes | None) -> None:
    world = World()
    if there is not None:
        assert isinstance(world.destination, MemoryTree)
        world.destination.put("f", kind, there, ATTRIBUTES[kind])
    source_of(world).put("f", kind, b"old", ATTRIBUTES[kind])
    begun(world, REQUEST)
    overtaken(world, monkeypatch, MemoryTree, "replace", REQUEST)
    copy(world)
    assert stored(world) == {"f": b"newer"}
    finish_tree(world.context())
    assert world.end()["totals"]["failed"]["entries"] == 1
    [row] = world.ledger.read_rows("failures.jsonl")
    assert (row["reason"], "start the transfer again" in row["remedy"]) == ("destination changed", True)


def test_a_late_copy_inside_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    assert isinstance(world.destination, MemoryTree)
    world.copier = MemoryEntryCopier(source_of(world), world.destination)
    source_of(world).put("f", Kind.FILE, b"old")
    begun(world, INSIDE)
    overtaken(world, monkeypatch, MemoryTree, "replace", INSIDE)
    copy(world)
    assert stored(world) == {"f": b"newer"}


def test_a_late_completion_of_a_big_file(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    source_of(world).put("f", Kind.FILE, BIG)
    begun(world, {**REQUEST, "limits": {"split_bytes": 8 * units.MIB}})
    copy(world)
    overtaken(world, monkeypatch, MemoryBlocks, "complete", REQUEST)
    finish_tree(world.context())
    assert stored(world) == {"f": b"newer"}
    assert world.end()["totals"]["failed"]["entries"] == 1


@pytest.mark.parametrize("written_by", ["the run that was stopped", "somebody else"])
def test_a_run_that_resumes_replaces_what_the_stopped_one_saw_or_wrote(written_by: str) -> None:
    world = World()
    source_of(world).put("f", Kind.FILE, b"bytes")
    begun(world, REQUEST)
    if written_by == "somebody else":
        assert isinstance(world.destination, MemoryTree)
        world.destination.put("f", Kind.FILE, b"other")
    else:
        copy(world)
        for key in list(world.ledger.keys("outcomes/")):  # it ended before it wrote what became of it
            world.store.remove([world.ledger.prefix + key])
    later = world.next_run("run-2")
    summary = later.run({"resume_from": "run-1"})
    expected = ("FAILED_WITH_ITEMS", b"other") if written_by == "somebody else" else ("SUCCEEDED", b"bytes")
    assert (summary["status"], stored(world)["f"]) == expected


def test_a_task_that_runs_twice_copies_what_it_copied_before() -> None:
    world = World()
    source_of(world).put("f", Kind.FILE, b"bytes")
    begun(world, REQUEST)
    copy(world)
    for key in list(world.ledger.keys("outcomes/")):
        world.store.remove([world.ledger.prefix + key])
    copy(world)
    finish_tree(world.context())
    assert world.end()["totals"]["copied"]["entries"] == 1


def test_shards_say_what_stood_at_the_destination() -> None:
    world = World()
    assert isinstance(world.destination, MemoryTree)
    there = world.destination.put("old", Kind.FILE, b"older")
    for path in ("old", "new"):
        source_of(world).put(path, Kind.FILE, b"bytes")
    begun(world, REQUEST)
    [row] = world.ledger.read_json("shards.json")
    entries = world.ledger.read_shard(convert(row["shard"], Shard))
    assert {one.path: one.replaces for one in entries} == {"old": there.etag, "new": NOTHING_THERE}


def test_on_a_mount_rows_stay_as_short_as_they_were() -> None:
    world = World()
    source_of(world).put("f", Kind.FILE, b"bytes")
    begun(world, {"source": "s3://a-bucket/in/", "destination": "efs:///out"})
    [row] = world.ledger.read_json("shards.json")
    assert [len(one) for one in world.ledger.read_rows(row["shard"]["key"])] == [6]
