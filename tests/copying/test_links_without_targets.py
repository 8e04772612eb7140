"""Objects that say they are symlinks and hold no target: a reason of their own, and remedies that work."""

from __future__ import annotations

import stat

import pytest

from fanout.facts import aws
from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

LINK = Attributes(mode=stat.S_IFLNK | 0o777)


@pytest.mark.parametrize("body", [b"", b"a\0b", b"x" * (aws.SYMLINK_TARGET_BYTES + 1)], ids=["empty", "NUL", "long"])
@pytest.mark.parametrize("remedy", ["a target", "symlinks: skip"])
def test_an_object_that_holds_no_target_is_rejected_and_its_remedies_work(body: bytes, remedy: str) -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("link", Kind.FILE, body, LINK)
    assert world.run()["totals"]["rejected"]["entries"] == 1
    [row] = world.ledger.read_rows("failures.jsonl")
    assert row["reason"] == Reason.LINK_NO_TARGET.value
    request = {**REQUEST, "symlinks": "skip"} if remedy == "symlinks: skip" else REQUEST
    if remedy == "a target":
        world.source.put("link", Kind.FILE, b"target", LINK)
    assert world.next_run("run-2").run(request)["status"] == "SUCCEEDED"
