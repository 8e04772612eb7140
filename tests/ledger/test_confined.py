"""Rows and plans that somebody wrote into the ledger: no path of them leads a task out of a mounted tree."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.finishing.divide import MadeFile
from fanout.finishing.finish_directories import read_directories
from fanout.ledger import keys
from fanout.ledger.confined import MountedEnds
from fanout.ledger.rows import link_row
from fanout.model.entry import Entry, Kind
from fanout.model.errors import LedgerBroken
from fanout.model.shard import BigFile, Shard
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

ETAG = f'"{"0" * 32}"'
LEADING_OUT = ["../out", "a/../../out", "/out", "a//b", "./a", "a/.", "a\0b", ".fanout-staging-other/x"]
REFUSED = "is no path of an entry"


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "copy").mkdir()
    source = MemoryTree()
    source.put("a", Kind.FILE, b"1")
    return World(source=source, destination=PosixTree(tmp_path, "copy", "run-1", "n"))


def forged(world: World, entry: Entry, shard_id: str = "s-1") -> Shard:
    """A shard's file as nobody of the product writes it."""
    return Shard(shard_id, world.ledger.write_shard(shard_id, [entry]), 1, entry.size, 1.0)


@pytest.mark.parametrize("path", LEADING_OUT)
@pytest.mark.parametrize("names", ["path", "target"])
def test_a_forged_shard_writes_nothing_out_of_the_tree(world: World, tmp_path: Path, path: str, names: str) -> None:
    world.list_all(world.plan())
    source = world.source
    assert isinstance(source, MemoryTree)
    at = path if names == "path" else "a"
    source.put(at, Kind.FILE, b"1")
    listed = source.find(at)
    assert listed is not None
    entry = Entry(at, Kind.FILE, 1, listed.mtime_ns, listed.changed_ns, listed.etag, target="" if at == path else path)
    with pytest.raises(LedgerBroken, match=REFUSED):
        copy_shard(forged(world, entry), world.context())
    assert {name for name in os.listdir(tmp_path) if name != "copy"} == set()


@pytest.mark.parametrize("path", LEADING_OUT)
def test_forged_big_files_links_and_directories_are_refused(world: World, path: str) -> None:
    world.plan()
    ledger, file = world.ledger, Entry(path, Kind.FILE, 1, 1, 1, ETAG)
    ledger.write(keys.big_file_key.at("big.json"), BigFile("b", file, 1, "t"))
    with pytest.raises(LedgerBroken, match=REFUSED):
        ledger.read_big_file("big.json")
    good = Entry("a", Kind.FILE, 1, 1, 1, ETAG)
    for row in (link_row(file, "a"), link_row(good, path)):
        ledger.write_rows("links.jsonl", [row])
        with pytest.raises(LedgerBroken, match=REFUSED):
            list(ledger.read_links(Shard("l", "links.jsonl", 1, 0, 0.0)))
    ledger.write_rows("directories.jsonl", [{"path": path + "/", "mode": 0o777}])
    with pytest.raises(LedgerBroken, match=REFUSED):
        read_directories(ledger, MadeFile("directories.jsonl", 1))


@pytest.mark.parametrize(
    ("end", "forged_end"),
    [
        ("destination", {"scheme": "efs", "mount": "data", "path": "../other"}),
        ("destination", {"scheme": "efs", "mount": "data", "path": "/etc"}),
        ("destination", {"scheme": "efs", "mount": "data", "path": "copy/"}),
        ("source", {"scheme": "efs", "mount": "data", "path": "a/../.."}),
        ("source", {"scheme": "s3", "bucket": "a-bucket", "prefix": "tree"}),
        ("source", {"scheme": "s3", "bucket": "other.example/", "prefix": ""}),
    ],
)
def test_a_forged_plan_names_no_place_that_a_request_could_not(world: World, end: str, forged_end: Any) -> None:
    world.plan()
    row = world.ledger.read_json(keys.PLAN)
    row["request"][end] = forged_end
    world.ledger.write_json(keys.PLAN, row)
    with pytest.raises(LedgerBroken, match=r"plan\.json is not whole"):
        world.ledger.read_plan()


KEYED = Entry("a//../b", Kind.FILE, etag=ETAG)
LISTED = Entry("a//../b", Kind.FILE)
PLACED = Entry("a//../b", Kind.FILE, etag=ETAG, target="a/b")


@pytest.mark.parametrize(
    ("ends", "entry", "holds"),
    [
        (MountedEnds(source=False, destination=False), KEYED, True),
        (MountedEnds(source=False, destination=True), KEYED, False),
        (MountedEnds(source=False, destination=True), PLACED, True),
        (MountedEnds(source=True, destination=False), KEYED, True),  # an extra of a bucket
        (MountedEnds(source=True, destination=False), LISTED, False),
        (MountedEnds(source=True, destination=True), LISTED, False),
        (MountedEnds(source=True, destination=True), Entry("..", Kind.FILE, target="a"), False),
    ],
)
def test_a_key_that_is_no_path_is_held_only_against_mounted_ends(ends: MountedEnds, entry: Entry, holds: bool) -> None:
    if holds:
        assert ends.check(entry) is entry
        return
    with pytest.raises(ValueError, match=REFUSED):
        ends.check(entry)


def test_the_plan_is_read_once_for_the_rows_of_a_task(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.plan(REQUEST)
    shard = forged(world, Entry("a", Kind.FILE, 1, 1, 1, ETAG))
    asked: list[str] = []
    get = world.store.get

    def noting(key: str) -> bytes:
        asked.append(key)
        return get(key)

    monkeypatch.setattr(world.store, "get", noting)
    ledger = world.ledger
    for _ in range(2):
        assert [entry.path for entry in ledger.read_shard(shard)] == ["a"]
    assert [key.rpartition("/")[2] for key in asked].count(keys.PLAN) == 1
