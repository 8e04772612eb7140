"""A task of a move that ends between two names of one file: nothing is lost, and a retry moves what is left.

Each unlink moves the ctime of the file. A task that follows cannot tell an unlink of the one before it from a write in
place that kept size and mtime, so it deletes no further name. A retry reads and compares the file again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.deletion import OwnUnlinks
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.model.document import Json
from fanout.model.outcome import Reason
from fanout.summary.summarise_transfer import summarise_transfer
from tests.deleting.test_deletion_at_a_rate import Slow
from tests.support.flow import World
from tests.support.mounts import world_of
from tests.support.moves import MOVE, compared, copied, held, names, reasons, to_delete
from tests.support.unlinked_names import keep_names_of_open_files

NAMES = ("a", "d/b", "d/e/c", "z")


class Killed(BaseException):
    """The function is gone."""


def linked(mount: Path) -> None:
    for name in NAMES:
        (mount / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        if name == NAMES[0]:
            (mount / "in" / name).write_bytes(b"one file")
        else:
            os.link(mount / "in" / NAMES[0], mount / "in" / name)


def killed_after(mount: Path, gone: int, monkeypatch: pytest.MonkeyPatch) -> World:
    """A move whose DeleteShard was killed right after so many unlinks, and was begun again."""
    linked(mount)
    world = copied(mount)
    inner = compared(world)
    begin_deletion(inner.context())
    (shard,) = to_delete(inner)
    unlink, left = os.unlink, iter(range(gone))

    def dies(name: str, *, dir_fd: int | None = None) -> None:
        if next(left, None) is None:
            raise Killed
        unlink(name, dir_fd=dir_fd)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(os, "unlink", dies)
        delete_shard(shard, inner.context())
    assert isinstance(world.source._own_unlinks, OwnUnlinks)  # type: ignore[attr-defined]
    inner.source = world.source = world_of(mount).source  # another process, which knows of no unlink
    assert delete_shard(shard, inner.context())["done"]
    assert remove_directories(inner.context())["done"]
    summarise_transfer(None, world.context())
    return world


@pytest.mark.parametrize("gone", [1, 2, 3])
@pytest.mark.parametrize("change", [{}, {"resume_from": "run-1"}], ids=["start", "retry"])
def test_what_is_left_of_a_file_stays_and_the_next_run_moves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: int, change: Json
) -> None:
    world = killed_after(tmp_path, gone, monkeypatch)
    summary = world.ledger.read_json("summary.json")
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert len(held(tmp_path / "in")) == len(NAMES) - gone
    assert held(tmp_path / "out") == dict.fromkeys(NAMES, b"one file")
    assert set(reasons(world).values()) == {Reason.NAME_TOUCHED.value}
    assert following(world, tmp_path, "run-2").run({**MOVE, **change})["status"] == "SUCCEEDED"
    assert names(tmp_path / "in") == set()
    assert held(tmp_path / "out") == dict.fromkeys(NAMES, b"one file")
    files = {(tmp_path / "out" / name).stat().st_ino for name in NAMES}
    assert len(files) == (1 if change else 2)  # a new run knows nothing of the names that went


def test_what_was_written_in_between_stays_in_a_retry_and_a_new_run_copies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as before and with the mtime of before: only the bytes tell."""
    world = killed_after(tmp_path, 2, monkeypatch)
    left = next(path for path in (tmp_path / "in").rglob("*") if path.is_file())
    mtime = left.stat().st_mtime_ns
    left.write_bytes(b"new byte")
    os.utime(left, ns=(mtime, mtime))
    assert following(world, tmp_path, "run-2").run({**MOVE, "resume_from": "run-1"})["status"] == "FAILED_WITH_ITEMS"
    assert set(held(tmp_path / "in").values()) == {b"new byte"}
    assert following(world, tmp_path, "run-3").run(MOVE)["status"] == "SUCCEEDED"
    assert names(tmp_path / "in") == set()
    assert sorted(set(held(tmp_path / "out").values())) == [b"new byte", b"one file"]


def following(world: World, mount: Path, run_id: str) -> World:
    """Another run over the same trees."""
    again, trees = world.next_run(run_id), world_of(mount, run_id)
    again.source, again.destination = trees.source, trees.destination
    return again


def test_every_name_is_moved_where_the_name_that_is_held_open_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on NFS: no name is held open while it is unlinked, or the next one would look touched."""
    linked(tmp_path)
    (tmp_path / "out").mkdir()
    keep_names_of_open_files(monkeypatch)
    world = world_of(tmp_path)
    assert world.run(MOVE)["status"] == "SUCCEEDED", reasons(world)
    assert names(tmp_path / "in") == set()
    assert held(tmp_path / "out") == dict.fromkeys(NAMES, b"one file")


def test_every_name_is_moved_where_the_rate_lets_only_one_begin_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that the rate ends between two names would hold open the name that it unlinks last."""
    linked(tmp_path)
    (tmp_path / "out").mkdir()
    keep_names_of_open_files(monkeypatch)
    world = world_of(tmp_path)
    world.limiter = Slow()
    assert world.run(MOVE)["status"] == "SUCCEEDED", reasons(world)
    assert names(tmp_path / "in") == set()


def test_every_name_of_a_symlink_is_moved_by_one_run(tmp_path: Path) -> None:
    """Each unlink moves the ctime of the further names, as of a file's."""
    (tmp_path / "in/d").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "in/a").symlink_to("nowhere")
    for name in ("b", "d/c"):
        os.link(tmp_path / "in/a", tmp_path / "in" / name, follow_symlinks=False)
    world = world_of(tmp_path)
    assert world.run(MOVE)["status"] == "SUCCEEDED", reasons(world)
    assert names(tmp_path / "in") == set()
    assert [os.readlink(tmp_path / "out" / name) for name in ("a", "b", "d/c")] == ["nowhere"] * 3
