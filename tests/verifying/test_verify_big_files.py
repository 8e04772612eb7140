"""`mode: verify` and `verify: all` compare big files block by block, over several functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts.tuning import BLOCK_BYTES
from fanout.facts.units import MIB
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.outcome import Reason
from fanout.partition.partition_shards import partition_shards
from fanout.shards.tasks.attempt import AttemptEnd, attempt_from_key, notes_prefix
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

REQUEST = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
CUT = {"limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 1}}
# The sources here stand for objects without metadata, whose files have times of their own.
CONTENT = {**REQUEST, "mode": "verify", "verify": "content"}
ONLY = {**CONTENT, **CUT}
SIZE = 5 * BLOCK_BYTES + 17
BODY = os.urandom(MIB) * (SIZE // MIB + 1)


@pytest.fixture
def world(tmp_path: Path) -> World:
    source = MemoryTree(keeps_checksums=False)  # of what a store tells, see test_stored_checksums
    world = World(source=source, destination=PosixTree(tmp_path, "", "run-1", "n"))
    assert isinstance(world.source, MemoryTree)
    world.source.put("d/big", Kind.FILE, BODY[:SIZE])
    world.source.put("d/small", Kind.FILE, b"small")
    (tmp_path / "d").mkdir()
    (tmp_path / "d/big").write_bytes(BODY[:SIZE])
    (tmp_path / "d/small").write_bytes(b"small")
    return world


def failed(world: World) -> list[Json]:
    return list(world.ledger.read_rows("failures.jsonl"))


def test_equal_files_have_the_digests_of_a_run_that_cuts_nothing(world: World) -> None:
    cut = world.run(ONLY)
    whole = World(source=world.source, destination=world.destination, run_id="run-2").run(
        {**REQUEST, "mode": "verify", "verify": "content"}
    )
    for summary in (cut, whole):
        assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True)
        assert summary["totals"]["unchanged"] == {"entries": 2, "bytes": SIZE + 5}
    assert cut["shards"]["count"] > 1 == whole["shards"]["count"]
    assert cut["verification"] == whole["verification"]


def test_a_long_comparison_is_noted_and_counts_a_byte_when_it_is_read_at_both_ends(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanout.facts.tuning.BLOCKS_IN_FLIGHT", 1)
    world.list_all(world.plan({**CONTENT, "limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 450}}))
    partition_shards(world.context())
    world.clock.step = 3.0
    world.verify_all()
    world.clock.step = 0.0
    found = [attempt_from_key(key) for key in world.ledger.keys(notes_prefix("verify"))]
    of_blocks = sorted(
        (one for one in found if one.bytes > MIB), key=lambda one: (one.shard_id, one.nonce, one.ended or 0.0)
    )
    assert len(of_blocks) >= 2
    assert [one.bytes for one in of_blocks] == sorted(one.bytes for one in of_blocks)
    assert min(one.bytes for one in of_blocks) < SIZE / 2 < max(one.bytes for one in of_blocks) <= SIZE


def test_a_copy_of_big_files_is_verified_whole(world: World, tmp_path: Path) -> None:
    (tmp_path / "d/big").unlink()
    summary = world.run({**REQUEST, **CUT, "verify": "all"})
    assert summary["status"] == "SUCCEEDED"
    assert summary["verification"]["compared"] == {"entries": 2, "bytes": SIZE + 5}


def test_the_first_block_that_differs_is_named(world: World, tmp_path: Path) -> None:
    with (tmp_path / "d/big").open("r+b") as file:
        file.seek(3 * BLOCK_BYTES + 1)
        file.write(b"not it")
    summary = world.run(ONLY)
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    (row,) = failed(world)
    assert row["path"] == "d/big"
    assert "block 3 " in row["message"]
    assert summary["verification"]["differing_directories"] == ["d"]


def test_a_file_that_vanishes_after_the_listing_is_a_difference(world: World, tmp_path: Path) -> None:
    world.list_all(world.plan(ONLY))
    partition_shards(world.context())
    (tmp_path / "d/big").unlink()
    world.verify_all()
    summary = world.end()
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    assert [row["path"] for row in failed(world)] == ["d/big"]


def test_blocks_that_no_task_reached_are_a_difference(world: World) -> None:
    world.list_all(world.plan(ONLY))
    partition_shards(world.context())
    summary = world.end()
    assert summary["totals"]["failed"]["entries"] == 2
    assert {row["reason"] for row in failed(world)} == {Reason.NOT_VERIFIED.value, Reason.SHARD_FAILED.value}


def test_a_task_that_runs_out_of_time_goes_on_where_it_stopped(world: World) -> None:
    world.list_all(world.plan(ONLY))
    partition_shards(world.context())
    world.clock = ManualClock(step=70.0)
    world.verify_all()
    world.clock.step = 0.0
    ends = [attempt_from_key(key).end for key in world.ledger.keys("attempts/verify/")]
    assert AttemptEnd.HANDED_BACK in ends
    assert world.end()["status"] == "SUCCEEDED"


def test_nothing_is_written_at_the_destination(world: World, tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    world.run(ONLY)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
