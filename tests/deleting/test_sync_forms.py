"""A sync where a file became a directory or a symlink at the source, or the other way round: it ends green.

In a bucket ``p`` and ``p/`` are two keys. On a file system a name is one or the other: nothing is deleted to make room.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.syncs import KEEP, SYNC, deletions, names, reasons, write

TO_S3: Json = {**SYNC, "destination": "s3://a-bucket/x/"}


def to_directory(source: Path) -> None:
    (source / "file").unlink()
    write(source, "file/new")


def to_empty_directory(source: Path) -> None:
    (source / "file").unlink()
    (source / "file").mkdir()


def to_symlink_to_a_directory(source: Path) -> None:
    (source / "file").unlink()
    (source / "file").symlink_to("keep")


def directory_to_file(source: Path) -> None:
    (source / "d").rename(source.parent / "aside")
    write(source, "d")


def directory_to_symlink(source: Path) -> None:
    (source / "d").rename(source.parent / "aside")
    (source / "d").symlink_to("keep")


CHANGES: dict[str, tuple[Callable[[Path], None], set[str], set[str]]] = {
    "file to directory": (to_directory, {"file"}, {"file/", "file/new"}),
    "file to empty directory": (to_empty_directory, {"file"}, {"file/"}),
    "file to symlink": (to_symlink_to_a_directory, set(), set()),
    "directory to file": (directory_to_file, {"d/", "d/e/", "d/e/f", "d/g"}, {"d"}),
    "directory to symlink": (directory_to_symlink, {"d/", "d/e/", "d/e/f", "d/g"}, {"d"}),
}


def synced(mount: Path, *, follow: bool = False) -> World:
    """A first run; the source holds a file and a directory that may turn into something else."""
    write(mount / "in", *KEEP, "file", "d/g", "d/e/f")
    source = PosixTree(mount, "in", "run-1", "source", "source", follow=follow)
    world = World(source=source, destination=MemoryTree())
    assert world.run(TO_S3)["status"] == "SUCCEEDED"
    source.close()
    return world


def held(world: World) -> set[str]:
    assert isinstance(world.destination, MemoryTree)
    return set(world.destination.contents())


def delete(world: World) -> Json:
    for shard in deletions(world):
        assert delete_shard(shard, world.context())["done"]
    assert remove_directories(world.context())["done"]
    return world.end()


def begun(world: World, request: Json = TO_S3) -> World:
    """The next run, where its deletions begin."""
    following = world.next_run("run-2")
    following.list_all(following.plan(request))
    following.copy_all()
    finish_tree(following.context(), deletes=True)
    begin_deletion(following.context())
    following.source.close()
    return following


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_its_form_at_the_source_changes_it_in_a_bucket(tmp_path: Path, change: str) -> None:
    turn, gone, new = CHANGES[change]
    world = synced(tmp_path)
    before = held(world)
    turn(tmp_path / "in")
    world = begun(world)
    summary = delete(world)
    assert (summary["status"], reasons(world)) == ("SUCCEEDED", {})
    assert held(world) == before - gone | new


def test_a_symlink_to_a_directory_that_is_followed_has_the_form_of_a_directory(tmp_path: Path) -> None:
    world = synced(tmp_path, follow=True)
    to_symlink_to_a_directory(tmp_path / "in")
    request = {**TO_S3, "symlinks": "follow"}
    world = begun(world, request)
    summary = delete(world)
    assert (summary["status"], reasons(world)) == ("SUCCEEDED", {})
    assert held(world) >= {"file/", "file/0"} and "file" not in held(world)


@pytest.mark.parametrize("turn", [directory_to_file, directory_to_symlink])
def test_what_lay_below_a_directory_that_turned_into_something_else_after_the_listing_stays(
    tmp_path: Path, turn: Callable[[Path], None]
) -> None:
    world = synced(tmp_path)
    os.unlink(tmp_path / "in/d/e/f")
    before = held(world)
    world = begun(world)
    turn(tmp_path / "in")
    assert delete(world)["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {"d/e/f": "source changed"}
    assert held(world) == before


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_that_came_back_in_its_own_form_stays(tmp_path: Path, number: int) -> None:
    world = synced(tmp_path)
    os.unlink(tmp_path / "in/file")
    world = begun(world)
    write(tmp_path / "in", "file" if number else "file/new")
    summary = delete(world)
    assert ("file" in held(world)) is bool(number)
    assert summary["status"] == ("FAILED_WITH_ITEMS" if number else "SUCCEEDED")


@pytest.mark.parametrize("change", CHANGES)
def test_on_a_file_system_nothing_is_deleted_to_make_room(tmp_path: Path, change: str) -> None:
    write(tmp_path / "in", *KEEP, "file", "d/g", "d/e/f")
    source = PosixTree(tmp_path, "in", "run-1", "source", "source")
    world = World(source=source, destination=PosixTree(tmp_path, "out", "run-1", "n"))
    assert world.run(SYNC)["status"] == "SUCCEEDED"
    source.close()
    world.destination.close()
    before = names(tmp_path / "out")
    CHANGES[change][0](tmp_path / "in")
    world = world.next_run("run-2")
    world.run(SYNC)
    assert names(tmp_path / "out") >= before
