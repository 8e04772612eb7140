"""A verification asks a store for the checksum that it keeps, and reads the bytes of the other end alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts.tuning import BLOCK_BYTES
from fanout.model.checksum import ALGORITHMS, CRC64NVME
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.partition.partition_shards import partition_shards
from fanout.ports.tree import Tree
from tests.support.flow import World
from tests.support.telling import Telling

INSIDE_S3 = {"source": "s3://a-bucket/in/", "destination": "s3://a-bucket/out/"}
FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///copy"}
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}
ONLY = {"mode": "verify", "verify": "content"}
CUT = {"limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1}}

BOTH = [
    ([CRC64NVME], [CRC64NVME], 0, 0),
    (["SHA256"], ["SHA256"], 0, 0),
    (["CRC32", "SHA256"], ["CRC32", CRC64NVME], 0, 0),
    (["SHA256"], [CRC64NVME], 1, 0),
    ([CRC64NVME], ["MD5"], 1, 0),
    ([], ["CRC32C"], 1, 0),
    (["XXHASH3"], [], 0, 1),
    ([], [], 1, 1),
]


@pytest.mark.parametrize(("here", "there", "reads_here", "reads_there"), BOTH, ids=str)
def test_inside_s3_only_what_no_checksum_in_common_tells_is_read(
    here: list[str], there: list[str], reads_here: int, reads_there: int
) -> None:
    source, destination = Telling(here), Telling(there)
    for tree in (source, destination):
        tree.put("d/f", Kind.FILE, b"the same bytes")
    summary = World(source=source, destination=destination).run(INSIDE_S3 | ONLY)
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True)
    assert (source.read_bytes, destination.read_bytes) == (14 * reads_here, 14 * reads_there)
    verification = summary["verification"]
    assert verification["source_digest"] == verification["destination_digest"] != "0" * 64
    destination.put("d/f", Kind.FILE, b"the other bytes"[:14])
    other = World(source=source, destination=destination, run_id="run-2")
    summary = other.run(INSIDE_S3 | ONLY)
    assert [row["reason"] for row in other.ledger.read_rows("failures.jsonl")] == ["checksum differs"]
    assert summary["verification"]["differing_directories"] == ["d"]


@pytest.mark.parametrize("told", ALGORITHMS)
@pytest.mark.parametrize("ends", [FROM_S3, TO_S3], ids=["from S3", "to S3"])
def test_beside_a_mount_no_byte_of_the_bucket_is_read(tmp_path: Path, ends: Json, told: str) -> None:
    bucket, mount = Telling([told]), PosixTree(tmp_path, "", "run-1", "n")
    bucket.put("d/", Kind.DIRECTORY)
    for name in ("one", "two", "three"):
        bucket.put(f"d/{name}", Kind.FILE, name.encode() * 9)
    (tmp_path / "d").mkdir()
    for name in ("one", "two", "three"):
        (tmp_path / "d" / name).write_bytes(name.encode() * 9)
    trees: tuple[Tree, Tree] = (bucket, mount) if ends is FROM_S3 else (mount, bucket)
    summary = World(source=trees[0], destination=trees[1]).run(ends | ONLY)
    assert (summary["status"], bucket.read_bytes) == ("SUCCEEDED", 0)
    assert summary["verification"]["source_digest"] == summary["verification"]["destination_digest"]
    (tmp_path / "d/two").write_bytes(b"owt" * 9)
    other = World(source=trees[0], destination=trees[1], run_id="run-2")
    summary = other.run(ends | ONLY)
    rows = [(row["path"], row["reason"]) for row in other.ledger.read_rows("failures.jsonl")]
    assert (rows, bucket.read_bytes) == ([("d/two", "checksum differs")], 0)
    assert summary["verification"]["source_digest"] != summary["verification"]["destination_digest"]


def test_the_checksum_of_an_object_that_was_replaced_is_not_taken(tmp_path: Path) -> None:
    bucket = Telling(["SHA256"])
    bucket.put("f", Kind.FILE, b"one")
    (tmp_path / "f").write_bytes(b"two")
    world = World(source=bucket, destination=PosixTree(tmp_path, "", "run-1", "n"))
    world.list_all(world.plan(FROM_S3 | ONLY))
    bucket.put("f", Kind.FILE, b"two")
    partition_shards(world.context())
    world.verify_all()
    assert world.end()["status"] == "FAILED_WITH_ITEMS"
    assert [row["reason"] for row in world.ledger.read_rows("failures.jsonl")] == ["source changed"]


def test_with_compare_checksum_the_bucket_is_asked_too(tmp_path: Path) -> None:
    size = 100_000  # more than a symlink's target
    bucket, body = Telling(["SHA1"]), os.urandom(size)
    bucket.put("f", Kind.FILE, body)
    (tmp_path / "f").write_bytes(body)
    world = World(source=bucket, destination=PosixTree(tmp_path, "", "run-1", "n"))
    summary = world.run(FROM_S3 | {"compare": "checksum"})
    assert summary["totals"]["unchanged"]["entries"] == 1
    assert bucket.read_bytes == 0


@pytest.mark.parametrize("ends", [FROM_S3, TO_S3, INSIDE_S3], ids=["from S3", "to S3", "inside S3"])
def test_of_a_file_in_blocks_a_bucket_that_tells_the_whole_is_not_read(tmp_path: Path, ends: Json) -> None:
    body = os.urandom(3 * BLOCK_BYTES + 5)
    bucket, other = Telling([CRC64NVME]), Telling([CRC64NVME])
    for tree in (bucket, other):
        tree.put("big", Kind.FILE, body)
    (tmp_path / "big").write_bytes(body)
    mount = PosixTree(tmp_path, "", "run-1", "n")
    trees: tuple[Tree, Tree] = (bucket, other)
    if ends is not INSIDE_S3:
        trees = (bucket, mount) if ends is FROM_S3 else (mount, bucket)
    summary = World(source=trees[0], destination=trees[1]).run(ends | ONLY | CUT)
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True)
    assert (summary["shards"]["count"] > 1) is (ends is not INSIDE_S3)  # where S3 copies, nothing is cut
    assert bucket.read_bytes == other.read_bytes == 0
    body = body[:-1] + bytes([body[-1] ^ 1])
    (tmp_path / "big").write_bytes(body)
    other.put("big", Kind.FILE, body)
    again = World(source=trees[0], destination=trees[1], run_id="run-2")
    summary = again.run(ends | ONLY | CUT)
    assert [row["reason"] for row in again.ledger.read_rows("failures.jsonl")] == ["checksum differs"]
    assert summary["verification"]["source_digest"] != summary["verification"]["destination_digest"]
