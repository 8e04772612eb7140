"""Whole runs that publish after somebody touched the published version: what was touched is copied again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.ledger import keys
from tests.runs.test_publish import put, world
from tests.runs.test_publish_attacks import WITHIN, on_a_mount
from tests.support.publishing import REQUEST, PublishingWorld, held

__all__ = ["world"]


def evil(path: Path) -> None:
    """A symlink with the length and the mtime of the file in whose place it stands."""
    found = path.lstat()
    path.unlink()
    path.symlink_to("x" * found.st_size)
    os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns), follow_symlinks=False)


@pytest.mark.parametrize("origin", ["bucket", "mount"])
@pytest.mark.parametrize("touch", [evil, lambda path: path.chmod(0o666)], ids=["symlink", "mode"])
def test_a_file_of_the_live_version_that_somebody_touched_is_copied(
    world: PublishingWorld, tmp_path: Path, origin: str, touch: Callable[[Path], None]
) -> None:
    request, directories = REQUEST, 0
    if origin == "mount":
        world, request, directories = on_a_mount(tmp_path), WITHIN, 2
    world.publish(request)
    mode = (world.current / "a.txt").stat().st_mode
    touch(world.current / "a.txt")
    for run_id, copied in (("v2", 1), ("v3", 0)):
        totals = world.following(run_id).publish(request)["totals"]
        assert {name: totals[name]["entries"] for name in ("copied", "unchanged")} == {
            "copied": directories + copied,
            "unchanged": 3 - copied,
        }
        assert (world.current / "a.txt").lstat().st_mode == mode
        assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


def test_a_big_file_is_linked_and_copied_once_it_was_touched(world: PublishingWorld) -> None:
    request = {**REQUEST, "limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}}
    put(world, "big", "b" * (tuning.BLOCK_BYTES + 1))
    world.publish(request)
    assert any("big-files" in key for key in world.ledger.keys(keys.MADE))
    assert world.following("v2").publish(request)["totals"]["copied"]["entries"] == 0
    (world.current / "big").chmod(0o666)
    assert world.following("v3").publish(request)["totals"]["copied"]["entries"] == 1
    assert (world.current / "big").stat().st_mode & 0o777 == 0o644


def test_a_version_whose_record_cannot_be_read_is_copied(world: PublishingWorld) -> None:
    world.publish()
    (key,) = world.ledger.keys(keys.MADE)
    world.ledger.write_bytes(key, b"not whole")
    summary = world.following("v2").publish()
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 3)
    assert "a record of version v1 cannot be read, what it is about is copied" in str(summary["notes"])
