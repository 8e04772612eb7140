"""A directory that behaves as S3 Files is said to: no hard links, and what is written goes to the bucket later.

S3 Files copies a file to the bucket after 60 seconds without a write. A rename after that makes a second object.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.facts import tuning
from fanout.model.errors import Superseded
from fanout.model.path_rules import STAGING_PREFIX
from fanout.partition.partition_shards import partition_shards
from tests.copying.test_hard_links import REQUEST, world_of
from tests.support.flow import World

EXPORT_SECONDS = 60.0
FILES, BIG = 300, 3 * tuning.BLOCK_BYTES
SPLIT = {**REQUEST, "limits": {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}}


class Bucket:
    """The bucket behind a mount: exports what was not written for 60 seconds, whenever it is looked at."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.puts: list[str] = []
        self._known: dict[str, int] = {}

    def export(self, seconds_later: float) -> None:
        """Copy each file that was written ``EXPORT_SECONDS`` before, and lies under a key that has it not."""
        for path in sorted(self._root.rglob("*")):
            key = str(path.relative_to(self._root))
            if path.is_file() and time.time() + seconds_later - path.stat().st_ctime >= EXPORT_SECONDS:
                if self._known.get(key) != path.stat().st_ino:
                    self.puts.append(key)
                self._known[key] = path.stat().st_ino


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A mount with small files and a big one at the source; no file has a second name, and none is written in place."""
    (tmp_path / "in/d").mkdir(parents=True)
    for number in range(FILES):
        (tmp_path / f"in/d/{number}").write_bytes(b"content %d" % number)
    (tmp_path / "in/big").write_bytes(os.urandom(BIG))
    opened = os.open

    def refuse(*_paths: Any, **_more: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def open_staged_alone(path: Any, flags: int, *more: Any, **named: Any) -> int:
        descriptor = opened(path, flags, *more, **named)
        if flags & (os.O_WRONLY | os.O_RDWR):
            place = os.readlink(f"/proc/self/fd/{descriptor}")
            assert not place.startswith(f"{tmp_path}/out/") or STAGING_PREFIX in place, place
        return descriptor

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        patch.setattr(os, "open", open_staged_alone)
        yield tmp_path


def copied(mount: Path) -> World:
    """A run whose functions have copied, before FinishTree."""
    world = world_of(mount)
    world.list_all(world.plan(SPLIT))
    partition_shards(world.context())
    world.copy_listed("shards.json")
    return world


def test_a_file_of_one_function_is_put_once_and_a_big_one_at_most_twice(mount: Path) -> None:
    bucket = Bucket(mount / "out")
    world = copied(mount)
    bucket.export(seconds_later=EXPORT_SECONDS)
    staged = [key for key in bucket.puts if key.startswith(STAGING_PREFIX)]
    assert len(staged) == 1 and len(bucket.puts) == FILES + 1
    world.finish_all()
    assert world.end()["status"] == "SUCCEEDED"
    bucket.export(seconds_later=EXPORT_SECONDS)
    assert sorted(bucket.puts) == sorted(["big", *(f"d/{number}" for number in range(FILES)), *staged])
    assert (mount / "out/big").read_bytes() == (mount / "in/big").read_bytes()


def test_no_part_is_at_its_place_and_a_late_function_cannot_change_it(mount: Path) -> None:
    world = copied(mount)
    assert not (mount / "out/big").exists()
    later = world_of(mount, "run-2")
    later.store = world.store
    assert later.run({**REQUEST, "compare": "checksum"})["status"] == "SUCCEEDED"
    before = {path: path.stat().st_ctime_ns for path in (mount / "out").rglob("*") if path.is_file()}
    assert len(before) == FILES + 1
    with pytest.raises(Superseded):
        world.finish_all()
    assert {path: path.stat().st_ctime_ns for path in before} == before
