"""What becomes of everything that a tree holds is the same within one mount and between two."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from tests.runs.test_semantics import ROWS, Row
from tests.support.flow import World
from tests.support.trees import described
from tests.support.two_mounts import TwoMounts


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.thing)
def test_between_two_mounts_as_within_one(row: Row, tmp_path: Path) -> None:
    follow = row.symlinks == "follow"
    mounts = TwoMounts(tmp_path, follow=follow)
    (mounts.source_root.parent / "outside").write_text("secret")
    row.make(mounts.source_root)
    between = mounts.run({"symlinks": row.symlinks})
    within = World(
        source=PosixTree(tmp_path / "data", "in", "run-1", "s", "source", follow=follow),
        destination=PosixTree(tmp_path / "data", "out", "run-1", "n"),
    )
    once = within.run({"source": "efs:///in", "destination": "efs:///out", "symlinks": row.symlinks})
    for field in ("status", "totals", "failures", "notes", "complete_listing"):
        assert between[field] == once[field], field
    there = [list(world.ledger.read_rows("failures.jsonl")) for world in (mounts.world, within)]
    assert there[0] == there[1]
    assert described(mounts.root) == described(tmp_path / "data" / "out")
    blocks = [
        sum(path.lstat().st_blocks for path in (tmp_path / out).rglob("*")) for out in ("archive/out", "data/out")
    ]
    assert blocks[0] == blocks[1]


def test_special_rows_are_among_them() -> None:
    """The table would say nothing if it lost its hard cases."""
    things = " ".join(row.thing for row in ROWS)
    assert all(word in things for word in ("several names", "sparse", "FIFO", "set-uid", "leads out of"))
