"""Resuming a run on a file system: hard links, attributes of directories, directories that could not be listed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.work.context import Context
from tests.support.flow import World
from tests.support.mounts import REQUEST, files, fill, listed, world_of
from tests.support.nobody import as_nobody, open_directory

OLD_NS = 10**18


class ByRun(World):
    """A world whose destination is that of the plan's run, as the functions make it."""

    mount: Path

    def context(self, state: str = "VerifyShard") -> Context:
        context = super().context(state)
        ends = replace(context.ends, destination=lambda plan: PosixTree(self.mount, "out", plan.run_id, "n"))
        return replace(context, ends=ends)


def following(world: World, mount: Path) -> World:
    following = ByRun(source=world_of(mount, "run-2").source, run_id="run-2")
    following.mount = mount
    following.store, following.clock, following.nonces = world.store, world.clock, world.nonces
    return following


def linked_source(mount: Path) -> None:
    source = fill(mount, "d/first", "alone", "e/other")
    os.link(source / "d/first", source / "e/second")
    os.link(source / "e/other", source / "d/another")


def inodes(root: Path, *names: str) -> list[int]:
    return [(root / name).stat().st_ino for name in names]


def assert_links(out: Path) -> None:
    assert len(set(inodes(out, "d/first", "e/second"))) == len(set(inodes(out, "e/other", "d/another"))) == 1
    assert len(set(inodes(out, "d/first", "e/other", "alone"))) == 3


def test_hard_links_that_were_not_made_are_made(tmp_path: Path) -> None:
    linked_source(tmp_path)
    world = listed(tmp_path)
    partition_shards(world.context())
    for row in world.ledger.read_json("shards.json"):
        copy_shard(convert(row["shard"], Shard), world.context())
    assert not (tmp_path / "out/e/second").exists()  # stopped before FinishTree
    summary = following(world, tmp_path).run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED"
    assert files(tmp_path / "out") == files(tmp_path / "in")
    assert_links(tmp_path / "out")
    assert summary["totals"]["listed"]["entries"] == 7
    assert summary["totals"]["copied"]["entries"] == 4  # the files whose names were not all there


def test_hard_links_that_were_made_stay(tmp_path: Path) -> None:
    linked_source(tmp_path)
    world = world_of(tmp_path)
    assert world.run(REQUEST)["status"] == "SUCCEEDED"
    before = inodes(tmp_path / "out", "d/first", "e/other", "alone")
    summary = following(world, tmp_path).run({"resume_from": "run-1"})
    assert summary["totals"]["unchanged"] == summary["totals"]["listed"]
    assert inodes(tmp_path / "out", "d/first", "e/other", "alone") == before
    assert_links(tmp_path / "out")


def test_hard_links_are_taken_over_before_they_were_grouped(tmp_path: Path) -> None:
    linked_source(tmp_path)
    world = listed(tmp_path)
    summary = following(world, tmp_path).run({"resume_from": "run-1"})
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 7)
    assert_links(tmp_path / "out")


def test_directories_that_the_stopped_run_made_get_their_attributes(tmp_path: Path) -> None:
    source = fill(tmp_path, *(f"d{number % 4}/f{number}" for number in range(40)))
    for directory in source.iterdir():
        directory.chmod(0o750)
        os.utime(directory, ns=(OLD_NS, OLD_NS))
    world = world_of(tmp_path)
    world.list_all(world.plan({**REQUEST, "limits": {"shard_seconds": 0.1}}))
    partition_shards(world.context())
    for row in world.ledger.read_json("shards.json"):
        world.clock.step, world.remaining_seconds = 0.05, 2.0
        copy_shard(convert(row["shard"], Shard), world.context())
    world.clock.step, world.remaining_seconds = 0.0, 900.0
    assert list((tmp_path / "out").glob(".fanout-staging-run-1"))
    made = [path for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")]
    assert made and all(path.stat().st_mtime_ns != OLD_NS for path in made)
    summary = following(world, tmp_path).run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["unchanged"]["entries"] > 4
    assert files(tmp_path / "out") == files(tmp_path / "in")
    assert len(list((tmp_path / "out").iterdir())) == 4  # and nothing that the stopped run had staged
    for path in (tmp_path / "out").iterdir():
        assert (path.stat().st_mtime_ns, path.stat().st_mode & 0o777) == (OLD_NS, 0o750)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up")
def test_a_directory_that_could_not_be_listed_is_listed_and_its_neighbours_are_not() -> None:
    with open_directory() as mount:
        source = fill(mount, "open/f", "sealed/f", "sealed/deep/g", "z")
        (source / "sealed").chmod(0o700)
        (mount / "out").mkdir()
        (mount / "out").chmod(0o777)

        world = world_of(mount)
        first = as_nobody(lambda: _ledger_of(mount, world))
        assert (first["summary"]["complete_listing"], first["summary"]["totals"]["failed"]["entries"]) == (False, 1)
        world.store._objects = {key: bytes.fromhex(text) for key, text in first["ledger"].items()}  # type: ignore[attr-defined]
        (source / "sealed").chmod(0o755)
        later = following(world, mount)
        summary = later.run({"resume_from": "run-1"})
        assert summary["status"] == "SUCCEEDED"
        assert summary["complete_listing"]
        assert summary["totals"]["listed"]["entries"] == 7
        assert summary["totals"]["unchanged"]["entries"] == 3
        assert files(mount / "out") == files(mount / "in")


def _ledger_of(mount: Path, world: World) -> Any:
    summary = world.run(REQUEST)
    objects = world.store._objects  # type: ignore[attr-defined]
    return {"summary": summary, "ledger": {key: data.hex() for key, data in objects.items()}}
