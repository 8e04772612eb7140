"""Between two mounts a sync deletes what it deletes within one: the source is looked at on its own side before."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting import source_looks
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.deleting.source_looks import look_at_directories, look_at_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.model.errors import FanoutError, LedgerBroken, Transient
from fanout.model.shard import Shard
from tests.support.flow import World
from tests.support.trees import described
from tests.support.two_mounts import TwoMounts

SYNC = {"mode": "sync", "delete_guard": {"max_percent": 90}}
EXTRA = ["gone", "d1/gone", "extra/", "extra/f", "extra/deep/", "extra/deep/f"]


def filled(root: Path) -> None:
    for number in range(20):
        path = root / f"d{number % 4}" / f"f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes([number]) * number)
    (root / "empty").mkdir()


def with_extras(root: Path) -> None:
    for path in EXTRA:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            (root / path).write_bytes(b"extra")


@pytest.fixture
def mounts(tmp_path: Path) -> TwoMounts:
    made = TwoMounts(tmp_path)
    filled(made.source_root)
    with_extras(made.root)
    return made


def ready(mounts: TwoMounts, options: dict[str, Any] | None = None) -> list[Shard]:
    """A sync up to BeginDeletion; returns the shards of files to delete."""
    assert mounts.list_all({**SYNC, **(options or {})})["extras"]
    mounts.copy_all()
    finish_tree(mounts.destination(), deletes=True)
    begin_deletion(mounts.neither())
    return [convert(row["shard"], Shard) for row in mounts.world.ledger.read_json("deletions.json")]


def kept(mounts: TwoMounts) -> list[str]:
    return [path for path in EXTRA if (mounts.root / path).exists()]


@pytest.mark.parametrize("options", [{}, {"exclude": ["extra/deep/"]}, {"include": ["d1/"]}], ids=str)
def test_between_two_mounts_as_within_one(mounts: TwoMounts, tmp_path: Path, options: dict[str, Any]) -> None:
    with_extras(tmp_path / "data" / "out")
    within = World(
        source=PosixTree(tmp_path / "data", "in", "run-1", "s", "source"),
        destination=PosixTree(tmp_path / "data", "out", "run-1", "n"),
    )
    once = within.run({"source": "efs:///in", "destination": "efs:///out", **SYNC, **options})
    between = mounts.run({**SYNC, **options})
    for field in ("status", "totals", "failures", "notes"):
        assert between[field] == once[field], field
    assert mounts.failures() == {row["path"]: row["reason"] for row in within.ledger.read_rows("failures.jsonl")}
    assert {path: one[:3] for path, one in described(mounts.root).items()} == {
        path: one[:3] for path, one in described(tmp_path / "data" / "out").items()
    }
    if not options:
        assert kept(mounts) == [] and described(mounts.root) == described(mounts.source_root)
    assert not list(mounts.root.glob(".fanout*"))


def test_the_guard_holds(mounts: TwoMounts) -> None:
    with pytest.raises(FanoutError, match=r"delete_guard\.max_count"):
        mounts.run({"mode": "sync", "delete_guard": {"max_count": 1}})
    assert kept(mounts) == EXTRA


def test_an_empty_source_deletes_nothing(mounts: TwoMounts) -> None:
    shutil.rmtree(mounts.source_root)
    mounts.source_root.mkdir()
    with pytest.raises(FanoutError, match="the source holds nothing"):
        mounts.run({"mode": "sync", "delete_guard": {"max_percent": 100}})
    assert kept(mounts) == EXTRA


def test_what_appears_at_the_source_after_the_listing_stays(mounts: TwoMounts) -> None:
    assert ready(mounts)
    (mounts.source_root / "gone").write_bytes(b"back")
    (mounts.source_root / "extra" / "deep").mkdir(parents=True)
    mounts.delete_all()
    assert kept(mounts) == ["gone", "extra/", "extra/deep/"]
    mounts.end()
    assert set(mounts.failures()) == {"gone", "extra/", "extra/deep/"}


def test_another_root_of_the_source_keeps_all(mounts: TwoMounts) -> None:
    assert ready(mounts)
    mounts.source_root.rename(mounts.base / "data" / "old")
    mounts.source_root.mkdir()
    mounts.delete_all()
    assert kept(mounts) == EXTRA
    assert mounts.end()["status"] != "SUCCEEDED"


def test_nothing_goes_that_was_not_looked_for(mounts: TwoMounts) -> None:
    (shard,) = ready(mounts)
    with pytest.raises(LedgerBroken):
        delete_shard(shard, mounts.destination())
    with pytest.raises(LedgerBroken):
        remove_directories(mounts.destination())
    assert kept(mounts) == EXTRA


def test_an_old_look_does_not_count(mounts: TwoMounts) -> None:
    (shard,) = ready(mounts)
    look_at_shard(shard, mounts.source())
    mounts.world.clock.sleep(source_looks.LOOK_SECONDS + 1)
    assert not delete_shard(shard, mounts.destination())["done"]
    assert kept(mounts) == EXTRA
    mounts.delete_all()
    assert kept(mounts) == []


def test_a_directory_that_came_back_during_a_long_pause_stays(mounts: TwoMounts) -> None:
    (shard,) = ready(mounts)
    look_at_shard(shard, mounts.source())
    assert delete_shard(shard, mounts.destination())["done"]
    assert look_at_directories(mounts.source())["done"]
    mounts.world.clock.sleep(16 * 3600)  # the window of the run was closed
    (mounts.source_root / "extra/deep").mkdir(parents=True)
    assert look_at_directories(mounts.source())["done"]
    assert remove_directories(mounts.destination())["done"]
    assert kept(mounts) == ["extra/", "extra/deep/"]


def test_each_task_may_run_twice(mounts: TwoMounts) -> None:
    (shard,) = ready(mounts)
    for _ in range(2):
        look_at_shard(shard, mounts.source())
        assert delete_shard(shard, mounts.destination())["done"]
        assert look_at_directories(mounts.source())["done"]
    for _ in range(2):
        assert remove_directories(mounts.destination())["done"]
    assert kept(mounts) == []
    assert mounts.end()["status"] == "SUCCEEDED"


def test_a_look_that_has_no_time_says_so(mounts: TwoMounts) -> None:
    (shard,) = ready(mounts)
    mounts.world.remaining_seconds = 0.0
    mounts.world.clock.step = 1.0
    with pytest.raises(Transient, match="could be looked for at the source in time"):
        look_at_shard(shard, mounts.source())
    with pytest.raises(Transient, match="could be looked for at the source in time"):
        look_at_directories(mounts.source())
    assert kept(mounts) == EXTRA
