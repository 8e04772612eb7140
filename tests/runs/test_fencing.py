"""A function of a stopped run freezes just before it changes the destination, and wakes up when a later run is over."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fanout.adapters.posix.staging import Staging
from fanout.adapters.posix.target import StagedBlocks
from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.facts import tuning, units
from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.ports.store import WorkStore
from tests.runs.zombies import Zombie, frozen
from tests.support.flow import World
from tests.support.memory_store import MemoryStore
from tests.support.mounts import REQUEST, world_of
from tests.support.renaming import others_rename

SYNC = {**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 99.0}}
BIG = 9 * units.MIB


# The work buckets of the stacks, by mount.
STORES: dict[Path, WorkStore] = {}


def of_one_stack(mount: Path, run_id: str = "run-1") -> World:
    """A run of the stack that all runs at this mount are of: it knows what the others have noted."""
    return world_of(mount, run_id, STORES.setdefault(mount, MemoryStore()))


def begun(mount: Path, request: Json = REQUEST) -> World:
    """A run up to where it copies."""
    world = of_one_stack(mount)
    world.list_all(world.plan(request))
    partition_shards(world.context())
    return world


def copy(world: World) -> None:
    world.destination = own_tree(world)
    for row in world.ledger.read_json("shards.json"):
        copy_shard(convert(row["shard"], Shard), world.context())


def own_tree(world: World) -> PosixTree:
    """The destination as a function of its own opens it."""
    assert isinstance(world.destination, PosixTree)
    return PosixTree(Path(world.destination._directories.base), "out", world.run_id, next(world.nonces))


def assert_overtaken(mount: Path, zombie: Zombie, expected: Callable[[], Any], request: Json = REQUEST) -> None:
    """A later run ends green, then the zombie goes on and changes nothing."""
    later = of_one_stack(mount, "run-2")
    summary = later.run({**request, "verify": "all"})
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True), summary
    before = expected()
    said = zombie.wake()
    assert expected() == before
    assert said == "Superseded"
    assert not list((mount / "out").glob(".fanout-*"))


@pytest.mark.parametrize("size", [10, tuning.BLOCK_BYTES_FREE + 1], ids=["small file", "file"])
@pytest.mark.parametrize("there", [None, b"older"])
def test_a_file(tmp_path: Path, size: int, there: bytes | None) -> None:
    (tmp_path / "in/d").mkdir(parents=True)
    (tmp_path / "in/d/file").write_bytes(b"o" * size)
    if there is not None:
        (tmp_path / "out/d").mkdir(parents=True)
        (tmp_path / "out/d/file").write_bytes(there)
    world = begun(tmp_path)
    zombie = frozen(lambda: copy(world), os, "rename")
    (tmp_path / "in/d/file").write_bytes(b"new")
    assert_overtaken(tmp_path, zombie, lambda: (tmp_path / "out/d/file").read_bytes())
    assert (tmp_path / "out/d/file").read_bytes() == b"new"


def test_a_file_that_is_linked_to_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_bytes(b"old")
    world = begun(tmp_path)

    tree = own_tree(world)
    monkeypatch.setattr("tests.runs.test_fencing.own_tree", lambda world: tree)
    with others_rename(tree):
        zombie = frozen(lambda: copy(world), os, "link")
        (tmp_path / "in/file").write_bytes(b"newer")
        assert_overtaken(tmp_path, zombie, lambda: (tmp_path / "out/file").read_bytes())


def test_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to("old")
    world = begun(tmp_path)
    zombie = frozen(lambda: copy(world), os, "rename")
    (tmp_path / "in/link").unlink()
    (tmp_path / "in/link").symlink_to("newer")
    assert_overtaken(tmp_path, zombie, lambda: os.readlink(tmp_path / "out/link"))
    assert os.readlink(tmp_path / "out/link") == "newer"


def test_a_big_file_that_is_put_together(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/big").write_bytes(os.urandom(BIG))
    world = begun(tmp_path, {**REQUEST, "limits": {"split_bytes": 8 * units.MIB}})
    copy(world)
    zombie = frozen(lambda: finish_tree(world.context()), Staging, "move")
    (tmp_path / "in/big").write_bytes(b"new")
    assert_overtaken(tmp_path, zombie, lambda: (tmp_path / "out/big").read_bytes())


def test_a_part_of_a_big_file(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/big").write_bytes(os.urandom(BIG))
    world = begun(tmp_path, {**REQUEST, "limits": {"split_bytes": 8 * units.MIB}})
    zombie = frozen(lambda: copy(world), StagedBlocks, "_open_staged")
    (tmp_path / "in/big").write_bytes(b"new")
    assert_overtaken(tmp_path, zombie, lambda: (tmp_path / "out/big").read_bytes())


def test_a_hard_link(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_bytes(b"old")
    os.link(tmp_path / "in/a", tmp_path / "in/b")
    world = begun(tmp_path)
    copy(world)
    zombie = frozen(lambda: finish_tree(world.context()), Staging, "rename")
    (tmp_path / "in/b").unlink()
    (tmp_path / "in/b").write_bytes(b"a file of its own")
    assert_overtaken(tmp_path, zombie, lambda: [(tmp_path / "out" / name).read_bytes() for name in "ab"])


def test_the_attributes_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "in/d").mkdir(parents=True, mode=0o750)
    world = begun(tmp_path)
    copy(world)
    zombie = frozen(lambda: finish_tree(world.context()), PosixTree, "set_attributes")
    (tmp_path / "in/d").chmod(0o700)
    assert_overtaken(tmp_path, zombie, lambda: (tmp_path / "out/d").stat().st_mode & 0o7777)
    assert (tmp_path / "out/d").stat().st_mode & 0o7777 == 0o700


def test_a_directory_that_is_made(tmp_path: Path) -> None:
    (tmp_path / "in/d/e").mkdir(parents=True)
    (tmp_path / "in/f").write_bytes(b"kept")
    world = begun(tmp_path)
    zombie = frozen(lambda: copy(world), PosixTree, "make_directory")
    shutil.rmtree(tmp_path / "in/d")
    assert_overtaken(tmp_path, zombie, lambda: sorted(path.name for path in (tmp_path / "out").iterdir()), SYNC)


def synced(mount: Path) -> World:
    """A sync up to where it deletes ``out/extra`` and ``out/empty``."""
    for path in ("in/kept", "out/kept", "out/extra"):
        (mount / path).parent.mkdir(exist_ok=True)
        (mount / path).write_bytes(b"the same")
        os.utime(mount / path, ns=(1, 1))
    (mount / "out/empty").mkdir()
    world = begun(mount, SYNC)
    copy(world)
    finish_tree(world.context(), deletes=True)
    begin_deletion(world.context())
    return world


def test_a_deletion_of_a_sync(tmp_path: Path) -> None:
    world = synced(tmp_path)
    [row] = world.ledger.read_json("deletions.json")
    zombie = frozen(lambda: delete_shard(convert(row["shard"], Shard), world.context()), PosixTree, "delete")
    shutil.copy2(tmp_path / "out/extra", tmp_path / "in/extra")  # the same size and time: the later run leaves it
    assert_overtaken(tmp_path, zombie, lambda: (tmp_path / "out/extra").read_bytes(), SYNC)


def test_a_directory_that_a_sync_removes(tmp_path: Path) -> None:
    world = synced(tmp_path)
    zombie = frozen(lambda: remove_directories(world.context()), PosixTree, "remove_directory")
    (tmp_path / "in/empty").mkdir()
    assert_overtaken(tmp_path, zombie, lambda: sorted(path.name for path in (tmp_path / "out").iterdir()), SYNC)
    assert (tmp_path / "out/empty").is_dir()


def test_a_run_that_resumes_a_stopped_one_fences_it_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_bytes(b"old")
    world = begun(tmp_path)
    zombie = frozen(lambda: copy(world), os, "rename")
    later = of_one_stack(tmp_path, "run-2")
    later.store, later.clock, later.nonces = world.store, world.clock, world.nonces
    assert later.run({"resume_from": "run-1", "verify": "all"})["status"] == "SUCCEEDED"
    inode = (tmp_path / "out/file").stat().st_ino
    assert zombie.wake() == "Superseded"
    assert (tmp_path / "out/file").stat().st_ino == inode
    assert not list((tmp_path / "out").glob(".fanout-*"))


def again_and_again(world: World) -> None:
    for _ in range(1_000):
        copy(world)


def test_a_function_that_goes_on_staging_is_fenced_too(tmp_path: Path) -> None:
    """What it makes while its directory is removed is removed as well, and then it stops."""
    (tmp_path / "in").mkdir()
    for number in range(3_000):
        (tmp_path / f"in/{number}").write_bytes(b"old")
    world = begun(tmp_path)
    zombie = frozen(lambda: again_and_again(world), PosixTree, "small_files_from")
    os.kill(zombie.pid, signal.SIGCONT)
    later = of_one_stack(tmp_path, "run-2")
    later.plan(REQUEST)
    assert zombie.wake() == "Superseded"
    assert [path.name for path in (tmp_path / "out").glob(".fanout-*")] == [".fanout-staging-run-2"]
