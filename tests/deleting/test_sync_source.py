"""A sync deletes an extra only where the source answers, from the very directories that were listed."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.paths import looks
from fanout.adapters.posix.paths.looks import ASKED_SECONDS
from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError, Transient
from fanout.model.outcome import Reason
from fanout.work.roots import note_root
from tests.deleting.test_sync_deletion import mount
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import world_of
from tests.support.nobody import NOBODY, as_nobody, open_directory
from tests.support.syncs import KEEP, SYNC, copied, deletions, ended, extended, names, reasons, write

__all__ = ["mount"]


@pytest.mark.parametrize("reason", [Reason.SOURCE_DENIED, Reason.TRANSIENT])
def test_a_root_of_the_source_that_cannot_be_looked_at_is_a_task_error(
    mount: Path, monkeypatch: pytest.MonkeyPatch, reason: Reason
) -> None:
    world = world_of(mount)

    def fails() -> str:
        raise ItemError(reason, "stat at the source: EIO")

    monkeypatch.setattr(world.source, "identity", fails)
    with pytest.raises(Transient, match="the root of the source: stat at the source"):
        note_root("source", world.source, world.ledger)


def parent_turned_to_a_symlink(mount: Path) -> None:
    (mount / "in/keep").rename(mount / "in/elsewhere")
    (mount / "in/keep").symlink_to("elsewhere")


def parent_replaced(mount: Path) -> None:
    (mount / "in/keep").rename(mount / "kept")
    (mount / "in/keep").mkdir()


def parent_turned_to_a_file(mount: Path) -> None:
    (mount / "in/keep").rename(mount / "kept")
    (mount / "in/keep").write_text("a file")


def root_replaced(mount: Path) -> None:
    (mount / "in").rename(mount / "moved")
    (mount / "in").mkdir()


def begun(mount: Path) -> World:
    """A sync where its deletions begin; the last function looked at the source's directories before."""
    world = copied(mount)
    begin_deletion(world.context())
    assert world.source.find("keep/0") is not None
    return world


@pytest.mark.parametrize(
    ("change", "opened"),
    [
        (parent_turned_to_a_symlink, True),
        (parent_turned_to_a_symlink, False),
        (parent_turned_to_a_file, True),
        (parent_turned_to_a_file, False),
        (parent_replaced, True),
    ],
)
def test_an_extra_below_a_directory_that_became_another_at_the_source_is_kept(
    mount: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None], opened: bool
) -> None:
    monkeypatch.setattr(looks, "ASKED_SECONDS", 600.0)  # what was asked just now, on a machine however slow
    world = begun(mount)
    if not opened:
        world.source.close()
    change(mount)
    for shard in deletions(world):
        delete_shard(shard, world.context())
    ended(world)
    assert reasons(world) == {"keep/old": "source changed"}
    assert (mount / "out/keep/old").exists()


@pytest.mark.parametrize("asked_seconds", [ASKED_SECONDS, -1.0], ids=["asked lately", "to be asked anew"])
@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
def test_nothing_is_deleted_where_the_root_of_the_source_is_another_directory(
    mount: Path, monkeypatch: pytest.MonkeyPatch, opened: bool, asked_seconds: float
) -> None:
    world = begun(mount)
    if not opened:
        world.source.close()
    before = names(mount / "out")
    root_replaced(mount)
    monkeypatch.setattr(looks, "ASKED_SECONDS", asked_seconds)
    for shard in deletions(world):
        delete_shard(shard, world.context())
    assert ended(world)["totals"]["deleted"]["entries"] == 0
    assert set(reasons(world).values()) == {"source changed"}
    staged = {name for name in before if name.startswith(".fanout-staging-run-1")}  # goes with the run
    assert staged and names(mount / "out") == before - staged


def test_nothing_is_deleted_where_the_root_of_the_source_is_gone(mount: Path) -> None:
    world = begun(mount)
    before = names(mount / "out")
    (mount / "in").rename(mount / "moved")
    for shard in deletions(world):  # by a function that has it open
        delete_shard(shard, world.context())
    world.source.close()
    with pytest.raises(InvalidRequest, match="is not a directory of the mount"):
        delete_shard(deletions(world)[0], world.context())
    with pytest.raises(InvalidRequest, match="is not a directory of the mount"):
        remove_directories(world.context())
    assert names(mount / "out") == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give up")
@pytest.mark.parametrize("closed", ["in/keep", "in"])
def test_an_extra_below_a_directory_that_can_no_more_be_searched_is_kept(closed: str) -> None:
    with open_directory() as mount:
        extended(mount)
        for path in [mount / "out", *(mount / "out").rglob("*")]:
            os.lchown(path, NOBODY, NOBODY)

        def run() -> Any:
            world = copied(mount)
            begin_deletion(world.context())
            world.source.close()
            Path(f"{mount}.go").touch()
            while (mount / closed).stat().st_mode & 0o001:
                time.sleep(0.01)
            for shard in deletions(world):
                delete_shard(shard, world.context())
            return [ended(world)["totals"]["deleted"]["entries"], reasons(world)]

        closing = threading.Thread(target=closes, args=(mount, closed))
        closing.start()
        deleted, found = as_nobody(run)
        closing.join()
        assert found["keep/old"] == "source cannot be read"
        assert (mount / "out/keep/old").exists()
        assert (deleted, len(found)) == ((8, 1) if closed == "in/keep" else (0, 9))


def closes(mount: Path, name: str) -> None:
    """Take the permission to search a directory when the run has come to its deletions."""
    sign = Path(f"{mount}.go")
    while not sign.exists():
        time.sleep(0.01)
    sign.unlink()
    (mount / name).chmod(0o704)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.ELOOP, errno.EMFILE])
def test_an_extra_that_the_file_system_gives_no_answer_about_is_kept(
    mount: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    world = begun(mount)
    plain = os.stat

    def stat(path: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if path == "old" and dir_fd is not None and os.readlink(f"/proc/self/fd/{dir_fd}") == str(mount / "in"):
            raise OSError(number, os.strerror(number))
        return plain(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", stat)
        for shard in deletions(world):
            delete_shard(shard, world.context())
    ended(world)
    assert reasons(world)["old"] == "failed after retries"
    assert (mount / "out/old").exists()


@pytest.mark.parametrize("error", [AccessDenied("HeadObject", "s3://b/old", "allow it"), Transient("reset")])
def test_an_extra_that_the_bucket_gives_no_answer_about_is_kept(tmp_path: Path, error: Exception) -> None:
    source = MemoryTree()
    for name in KEEP:
        source.put(name, Kind.FILE, name.encode())
    write(tmp_path / "out", *KEEP, "old", "older")
    world = World(source=source, destination=PosixTree(tmp_path, "out", "run-1", "n"))
    world.list_all(world.plan({**SYNC, "source": "s3://a-bucket/x/"}))
    world.copy_all()
    finish_tree(world.context(), deletes=True)
    begin_deletion(world.context())
    plain = source.find_stored

    def find(path: str) -> Any:
        if path == "old":
            raise error
        return plain(path)

    source.find_stored = find  # type: ignore[method-assign]
    for shard in deletions(world):
        delete_shard(shard, world.context())
    assert ended(world)["totals"]["deleted"]["entries"] == 1
    expected = "source cannot be read" if isinstance(error, AccessDenied) else "failed after retries"
    assert reasons(world) == {"old": expected}
    assert names(tmp_path / "out") >= {"old"}


@pytest.mark.parametrize("key", ["../secret", "/abs", "a//b", "n" * 256, "nul\0", "d/../../secret", "\ud800"])
def test_a_key_that_can_be_no_file_is_not_looked_for_outside_the_source(tmp_path: Path, key: str) -> None:
    write(tmp_path, "secret", "in/a", "in/d/f")
    source = PosixTree(tmp_path, "in", "run-1", "n", "source")
    assert source.find(key) is None
    assert source.find_stored(key) is None
