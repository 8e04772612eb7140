"""Set-id bits and owners that a big file may not have are counted as a small file's are."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.request.parts.allowed_attributes import StackAllows, owners_of
from tests.support.flow import World
from tests.support.memory import MemoryTree

BIG = 2 * tuning.BLOCK_BYTES + 1
IN_BLOCKS: Json = {"limits": {"split_bytes": tuning.BLOCK_BYTES}}
FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///out", **IN_BLOCKS}
NO_SET_IDS = StackAllows(set_ids=False)


def counted(summary: Json) -> list[str]:
    assert summary["status"] == "SUCCEEDED"
    return [note for note in summary["notes"] or [] if "left out" in note]


def test_between_mounts_both_sizes_are_counted(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, size in (("big", BIG), ("small", 1)):
        (tmp_path / "in" / name).write_bytes(bytes(size))
        (tmp_path / "in" / name).chmod(0o6755)
    ends = PosixTree(tmp_path, "in", "run-1", "s", "source"), PosixTree(tmp_path, "out", "run-1", "d")
    world = World(source=ends[0], destination=ends[1], allows=NO_SET_IDS)
    (note,) = counted(world.run({"source": "efs:///in", "destination": "efs:///out", **IN_BLOCKS}))
    assert ": 2, for example big (mode 6755); small (mode 6755)" in note
    assert (tmp_path / "out/big").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("mode", ["copy", "verify"])
@pytest.mark.parametrize("checksums", [True, False])
def test_of_objects_owners_and_unreadable_values_are_counted_too(tmp_path: Path, mode: str, checksums: bool) -> None:
    changes = itertools.count(1)
    source = MemoryTree(changes, keeps_checksums=checksums)
    given = Attributes(0o104755, 5, 5, unreadable={"atime_ns": "soon"})
    source.put("big", Kind.FILE, bytes(BIG), given)
    allows = StackAllows(owners_of(f"{os.geteuid()}:{os.getegid()}"))
    world = World(changes, source, PosixTree(tmp_path, "out", "run-1", "d"), allows=allows)
    request = {**FROM_S3, "attributes": {"set_ids": True}}
    summary = world.run(request)
    if mode == "verify":
        later = world.next_run("run-2")
        later.destination = PosixTree(tmp_path, "out", "run-2", "d")
        summary = later.run({**request, "mode": "verify"})
    (note,) = counted(summary)
    assert note.startswith("objects whose owner was left out") and ": 1, for example big (owner 5:5)" in note
    assert any("for example big (atime 'soon')" in one for one in summary["notes"]), summary["notes"]
