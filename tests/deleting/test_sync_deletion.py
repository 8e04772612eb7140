"""The last phase of a sync: what changed is kept, nothing is followed, twice counts once, kills are made good."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.directory_store import DirectoryStore
from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.finish_tree import finish_tree
from fanout.model.errors import Transient
from tests.support.mounts import world_of
from tests.support.syncs import KEEP, SYNC, copied, deletions, ended, extended, names, reasons, write


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    return extended(tmp_path)


def rewritten(mount: Path) -> None:
    (mount / "out/old").write_text("somebody needs it")


def touched(mount: Path) -> None:
    os.utime(mount / "out/old", ns=(1, 1))


def other_kind(mount: Path) -> None:
    (mount / "out/old").unlink()
    (mount / "out/old").mkdir()


def at_the_source(mount: Path) -> None:
    write(mount / "in", "old")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (rewritten, "destination changed"),
        (touched, "destination changed"),
        (other_kind, "destination changed"),
        (at_the_source, "appeared at the source"),
    ],
)
def test_an_extra_that_changed_since_it_was_listed_is_kept(
    mount: Path, change: Callable[[Path], None], reason: str
) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    change(mount)
    for shard in deletions(world):
        assert delete_shard(shard, world.context())["done"]
    summary = ended(world)
    assert reasons(world) == {"old": reason}
    assert (mount / "out/old").exists()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["totals"]["deleted"]["entries"] == 8
    assert summary["balanced"]


def test_a_directory_into_which_something_was_written_is_kept(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    write(mount / "out", "gone/deep/new")
    for shard in deletions(world):
        delete_shard(shard, world.context())
    ended(world)
    assert reasons(world) == {"gone/": "directory is not empty", "gone/deep/": "directory is not empty"}
    assert names(mount / "out/gone") == {"deep", "deep/new"}


def test_a_symlink_put_into_the_path_is_not_followed(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    outside = mount / "outside"
    write(outside, "deep/er/file", "file")
    (mount / "out/gone").rename(mount / "moved")
    (mount / "out/gone").symlink_to(outside)
    before = names(outside)
    world.destination = PosixTree(mount, "out", "run-1", "n2")
    for shard in deletions(world):
        delete_shard(shard, world.context())
    ended(world)
    assert names(outside) == before
    found = reasons(world)
    assert found.pop("gone/") == "destination has another kind of entry"
    assert set(found) == {"gone/file", "gone/deep/", "gone/deep/er/", "gone/deep/er/file", "gone/empty/"}
    assert set(found.values()) == {"symlink in the destination's path"}


def test_deletion_delivered_twice_counts_once(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    for shard in deletions(world):
        assert delete_shard(shard, world.context())["done"]
        for key in list(world.ledger.keys(f"outcomes/shards/{shard.id}/")):
            world.store._objects.pop(world.ledger.prefix + key)  # type: ignore[attr-defined]
        assert delete_shard(shard, world.context())["done"]
        assert delete_shard(shard, world.context())["done"]
    assert remove_directories(world.context())["done"]
    summary = ended(world)  # once more
    assert summary["totals"]["deleted"]["entries"] == 9
    assert summary["status"] == "SUCCEEDED"


def test_a_function_without_time_deletes_nothing_and_says_so(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    world.remaining_seconds = -1.0
    with pytest.raises(Transient, match="none of 5 entries could be deleted in time"):
        delete_shard(deletions(world)[0], world.context())
    with pytest.raises(Transient, match="none could be removed in time"):
        remove_directories(world.context())


def test_a_shard_without_outcomes_is_no_success(mount: Path) -> None:
    world = copied(mount)
    begin_deletion(world.context())
    summary = ended(world)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world)["old"] == "the shard failed"


def test_kills_in_the_deletion_lose_nothing_and_are_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in", *KEEP)
    write(tmp_path / "out", *KEEP, *(f"old/{number % 9}/{number}" for number in range(400)))
    world = world_of(tmp_path)
    world.store = DirectoryStore(tmp_path / "ledger")
    world.list_all(world.plan(SYNC))
    world.copy_all()
    finish_tree(world.context(), deletes=True)
    begin_deletion(world.context())
    [shard] = deletions(world)
    kills = 0
    for number in range(5):
        pid = os.fork()
        if not pid:
            left = [60 * (number + 1)]
            unlink = os.unlink

            def killed(name: str, *, dir_fd: int, unlink: Any = unlink, left: list[int] = left) -> None:
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                unlink(name, dir_fd=dir_fd)

            monkeypatch.setattr(os, "unlink", killed)
            world.source = PosixTree(tmp_path, "in", "run-1", f"k{number}", "source")
            world.destination = PosixTree(tmp_path, "out", "run-1", f"k{number}")
            try:
                delete_shard(shard, world.context())
            finally:
                os._exit(0)
        kills += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    assert kills >= 3
    assert delete_shard(shard, world.context())["done"]
    summary = ended(world)
    assert names(tmp_path / "out") == names(tmp_path / "in")
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["deleted"]["entries"] == 410
