"""Big files: cut into blocks over several shards, put together once, or not at all."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.copying.record_shard_failure import record_shard_failure
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import aws, tuning, units
from fanout.finishing.finish_tree import finish_tree
from fanout.listing import listed_shards
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.document import Json
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import Transient
from fanout.model.shard import BigFile, Rates, Receipt, Shard, block_bytes_of
from fanout.partition.partition_shards import partition_shards
from fanout.shards.big_files import cut, whole_checksum
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.memory_files import MemorySource

BLOCK = tuning.BLOCK_BYTES
SIZE = 5 * BLOCK + 12_345
TIB = 1024**4
SPLIT = {**REQUEST, "limits": {"split_bytes": BLOCK, "shard_seconds": 0.2, "max_concurrency": 4}}
BODY = os.urandom(SIZE)


@pytest.fixture
def world() -> World:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("d/big", Kind.FILE, BODY, Attributes(mode=0o100600, mtime_ns=10**18))
    world.source.put("small", Kind.FILE, b"small")
    return world


def partitioned(world: World) -> list[Shard]:
    world.list_all(world.plan(SPLIT))
    partition_shards(world.context())
    return [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]


def finished(world: World) -> Json:
    finish_tree(world.context())
    summarise_transfer(None, world.context())
    summary: Json = world.ledger.read_json("summary.json")
    return summary


def test_a_big_file_is_copied_by_several_shards_and_counts_once(world: World) -> None:
    shards = partitioned(world)
    assert len([shard for shard in shards if shard.blocks]) > 2
    world.copy_all()
    assert isinstance(world.destination, MemoryTree)
    assert "d/big" not in world.destination.contents()
    summary = finished(world)
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["copied"] == {"entries": 2, "bytes": SIZE + 5}
    assert world.destination.contents()["d/big"].data == BODY
    assert world.destination.unfinished_blocks() == 0


def test_a_big_file_in_a_directory_is_invisible_until_it_is_whole(world: World, tmp_path: Path) -> None:
    world.destination = PosixTree(tmp_path, "", "run-1", "n")
    partitioned(world)
    world.copy_all()
    assert not (tmp_path / "d/big").exists()
    summary = finished(world)
    assert summary["status"] == "SUCCEEDED"
    found = (tmp_path / "d/big").stat()
    assert (tmp_path / "d/big").read_bytes() == BODY
    assert (found.st_mode & 0o7777, found.st_mtime_ns) == (0o600, 10**18)
    assert not list(tmp_path.glob(".fanout*"))


@pytest.mark.parametrize(("block_bytes", "reads"), [(BLOCK, 6), (2 * BLOCK + 7, 8)])
def test_a_file_gets_its_blocks_in_reads_that_memory_holds(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int, reads: int
) -> None:
    """A read is a request to the bucket, so a block is one, unless it is that of a file of many TiB."""
    asked: list[int] = []
    read = MemorySource.read

    def counted(self: MemorySource, offset: int, length: int) -> bytes:
        asked.append(length)
        return read(self, offset, length)

    monkeypatch.setattr(MemorySource, "read", counted)
    monkeypatch.setattr(listed_shards, "block_bytes_of", lambda size: block_bytes)
    world.destination = PosixTree(tmp_path, "", "run-1", "n")
    partitioned(world)
    world.copy_all()
    assert finished(world)["status"] == "SUCCEEDED"
    assert (tmp_path / "d/big").read_bytes() == BODY
    of_blocks = [length for length in asked if length != len(b"small")]
    assert (len(of_blocks), sum(of_blocks), max(of_blocks)) == (reads, SIZE, BLOCK)


def test_finishing_twice_has_the_same_result(world: World, tmp_path: Path) -> None:
    world.destination = PosixTree(tmp_path, "", "run-1", "n")
    partitioned(world)
    world.copy_all()
    finish_tree(world.context())
    assert finished(world)["status"] == "SUCCEEDED"


def test_parts_that_are_delivered_twice_and_out_of_time_lose_nothing(world: World) -> None:
    shards = partitioned(world)
    world.clock.step = 0.1
    world.remaining_seconds = 2.0
    for shard in [*shards, *shards]:
        for _ in range(50):
            if copy_shard(shard, world.context())["done"]:
                break
    world.clock.step = 0.0
    assert finished(world)["status"] == "SUCCEEDED"
    assert isinstance(world.destination, MemoryTree)
    assert world.destination.contents()["d/big"].data == BODY


def test_a_part_that_fails_for_good_fails_the_file_and_nothing_of_it_stays(world: World) -> None:
    parts = [shard for shard in partitioned(world) if shard.blocks]
    record_shard_failure(parts[0], {"Error": "Transient", "Cause": "no answer"}, world.context())
    world.copy_all()
    summary = finished(world)
    assert summary["status"] == "FAILED_WITH_ITEMS"
    [row] = world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("d/big", "the shard failed")
    assert isinstance(world.destination, MemoryTree)
    assert list(world.destination.contents()) == ["small"]
    assert world.destination.unfinished_blocks() == 0


def test_a_run_that_broke_off_discards_what_it_began(world: World) -> None:
    world.list_all(world.plan(SPLIT))
    finish_tree(world.context())
    result = summarise_transfer({"Error": "States.Timeout", "Cause": ""}, world.context())
    assert result["status"] == "FAILED"
    summary = world.ledger.read_json("summary.json")
    assert summary["balanced"]
    assert summary["totals"]["failed"]["entries"] == 2
    assert isinstance(world.destination, MemoryTree)
    assert world.destination.unfinished_blocks() == 0


def test_a_source_that_changes_between_its_parts_is_a_failed_file(world: World) -> None:
    shards = partitioned(world)
    parts = [shard for shard in shards if shard.blocks]
    copy_shard(parts[0], world.context())
    assert isinstance(world.source, MemoryTree)
    world.source.put("d/big", Kind.FILE, BODY[::-1])
    world.copy_all()
    assert finished(world)["status"] == "FAILED_WITH_ITEMS"
    assert [row["reason"] for row in world.ledger.read_rows("failures.jsonl")] == ["source changed"]


def test_blocks_that_can_not_be_written_for_now_are_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [shard for shard in partitioned(world) if shard.blocks]
    assert isinstance(world.destination, MemoryTree)
    opened = world.destination.open_blocks(Entry("d/big", Kind.FILE, SIZE), next(iter(world.destination._begun)))

    def fail(*_: object) -> str:
        raise Transient("reset")

    with monkeypatch.context() as patch, pytest.raises(Transient):
        patch.setattr(type(opened), "write", fail)
        copy_shard(parts[0], world.context())
    world.copy_all()
    assert finished(world)["status"] == "SUCCEEDED"


@given(st.integers(1, 48 * TIB), st.floats(5.0, 450.0))
def test_the_parts_of_a_file_of_any_size_are_its_blocks_within_the_limits_of_s3(size: int, target: float) -> None:
    big = BigFile("b", Entry("f", Kind.FILE, size), block_bytes_of(size), "t")
    shards = list(cut(big, "key", DEFAULT_RATES, target))
    assert big.blocks <= aws.MULTIPART_PARTS
    assert aws.MULTIPART_PART_BYTES_MIN <= big.block_bytes <= 5 * units.GIB
    ranges = [shard.blocks for shard in shards if shard.blocks]
    assert ranges[0][0] == 0 and ranges[-1][1] == big.blocks
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ranges))
    assert sum(shard.bytes for shard in shards) == size


def test_a_file_of_5_tib_is_planned_within_the_limits(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(5 * TIB)
    world = World(source=PosixTree(tmp_path, "", "run-1", "n"))
    world.list_all(world.plan({"source": "efs:///", "destination": "s3://a-bucket/copy/"}))
    partition_shards(world.context())
    shards = [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
    assert sum(shard.bytes for shard in shards) == 5 * TIB
    assert max(shard.seconds for shard in shards) < aws.FUNCTION_SECONDS / 2
    [key] = list(world.ledger.keys("big-files/"))
    assert world.ledger.read_json(key)["block_bytes"] == 525 * units.MIB


@given(st.binary(min_size=1, max_size=300), st.integers(1, 40))
def test_the_checksum_of_the_whole_is_made_of_those_of_the_blocks(body: bytes, block_bytes: int) -> None:
    big = BigFile("b", Entry("f", Kind.FILE, len(body)), block_bytes, "t")
    receipts = []
    for index in range(big.blocks):
        offset, length = big.block(index)
        receipts.append(Receipt(index, crc64nvme(body[offset : offset + length], NO_BYTES)))
    assert whole_checksum(big, receipts) == crc64nvme(body)
    assert sum(shard.items for shard in cut(big, "k", Rates(0.0, 10.0), 1.0)) == big.blocks
