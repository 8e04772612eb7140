"""Holes stay holes, are not read where the file system can tell them, and count in the checksum."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.posix.target import CHUNK_BYTES, runs_of_data
from fanout.adapters.posix.tree import PosixTree
from fanout.facts.units import MIB
from fanout.model.checksum import NO_BYTES, append_zeros, crc64nvme, to_base64
from fanout.model.entry import Kind
from fanout.shards.shard_results import big_file_outcomes
from tests.nfs.selections import IN_GUEST
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

TIB = 1024**4
POSIX = {"source": "efs:///in", "destination": "efs:///out"}


@given(st.binary(max_size=50), st.integers(0, 5000))
def test_the_checksum_of_zeros_needs_no_zeros(data: bytes, count: int) -> None:
    assert append_zeros(crc64nvme(data), count) == crc64nvme(data + bytes(count))


def test_the_checksum_of_zeros_in_steps_is_that_of_all_of_them() -> None:
    assert append_zeros(append_zeros(NO_BYTES, TIB - 5), 5) == append_zeros(NO_BYTES, TIB)


BLOCKS = st.lists(st.tuples(st.booleans(), st.integers(1, 3 * CHUNK_BYTES)), max_size=6).map(
    lambda runs: b"".join((b"x" if filled else b"\0") * size for filled, size in runs)
)


@given(BLOCKS)
def test_what_is_not_written_is_zero_and_whole_chunks(block: bytes) -> None:
    written = bytearray(len(block))
    end = 0
    for start, stop in runs_of_data(block):
        assert (start - end) % CHUNK_BYTES == 0
        written[start:stop] = block[start:stop]
        end = stop
    assert bytes(written) == block
    for chunk in range(0, len(block) - CHUNK_BYTES + 1, CHUNK_BYTES):
        if not any(block[chunk : chunk + CHUNK_BYTES]):
            assert all(stop <= chunk or start >= chunk + CHUNK_BYTES for start, stop in runs_of_data(block))


def allocated(path: Path) -> int:
    return path.stat().st_blocks * 512


def test_zeros_of_an_object_become_holes(tmp_path: Path) -> None:
    world = World(destination=PosixTree(tmp_path, "copy", "run-1", "n"))
    assert isinstance(world.source, MemoryTree)
    bodies = {
        "begin": bytes(20 * MIB) + b"end",
        "middle": b"begin" + bytes(20 * MIB) + b"end",
        "end": b"begin" + bytes(20 * MIB),
        "nothing-but": bytes(20 * MIB),
        "small": bytes(100),
        "chunk": bytes(CHUNK_BYTES),
        "empty": b"",
    }
    for path, body in bodies.items():
        world.source.put(path, Kind.FILE, body)
    assert world.run(REQUEST)["status"] == "SUCCEEDED"
    for path, body in bodies.items():
        copy = tmp_path / "copy" / path
        assert copy.read_bytes() == body
        assert allocated(copy) <= 3 * CHUNK_BYTES


def sparse(path: Path, size: int, pieces: dict[int, bytes]) -> Path:
    """A sparse file; skips where the file system cannot hold it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        try:
            file.truncate(size)
        except OSError as error:
            if error.errno == errno.EFBIG:
                pytest.skip(f"this file system holds no file of {size} bytes")
            raise
        for offset, piece in pieces.items():
            file.seek(offset)
            file.write(piece)
    if allocated(path) > size // 2:
        pytest.skip("this file system has no sparse files")
    return path


def posix_world(mount: Path) -> World:
    return World(
        source=PosixTree(mount, "in", "run-1", "s", "source"), destination=PosixTree(mount, "out", "run-1", "n")
    )


@pytest.mark.skipif(IN_GUEST, reason="NFSv4.1 does not say where holes are")
def test_a_tebibyte_of_holes_is_copied_without_reading_it(tmp_path: Path) -> None:
    pieces = {0: b"begin", TIB // 3: b"m" * 100_000, TIB - 3: b"end"}
    path = sparse(tmp_path / "in/huge", TIB, pieces)
    world = posix_world(tmp_path)
    summary = world.run(POSIX)
    assert summary["totals"]["copied"] == {"entries": 1, "bytes": TIB}
    copy = tmp_path / "out/huge"
    assert copy.stat().st_size == TIB
    assert allocated(copy) <= allocated(path) + 4 * CHUNK_BYTES
    checksum, end = NO_BYTES, 0
    with copy.open("rb") as file:
        for offset, piece in pieces.items():
            file.seek(offset)
            assert file.read(len(piece)) == piece
            checksum = crc64nvme(piece, append_zeros(checksum, offset - end))
            end = offset + len(piece)
    [(_, outcome)] = big_file_outcomes(world.ledger)
    assert outcome.crc64nvme == to_base64(checksum)


def test_a_file_system_that_can_not_tell_holes_is_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse(tmp_path / "in/file", 40 * MIB, {10 * MIB: b"middle"})

    seek = os.lseek

    def refuse(descriptor: int, offset: int, whence: int) -> int:
        if whence in (os.SEEK_DATA, os.SEEK_HOLE):
            raise OSError(errno.EINVAL, "Invalid argument")
        return seek(descriptor, offset, whence)

    monkeypatch.setattr(os, "lseek", refuse)
    assert posix_world(tmp_path).run(POSIX)["status"] == "SUCCEEDED"
    assert (tmp_path / "out/file").read_bytes() == (tmp_path / "in/file").read_bytes()
    assert allocated(tmp_path / "out/file") <= 2 * CHUNK_BYTES


def test_holes_are_sent_to_a_store_that_keeps_none(tmp_path: Path) -> None:
    path = sparse(tmp_path / "in/file", 40 * MIB, {10 * MIB: b"middle"})
    world = posix_world(tmp_path)
    world.destination = MemoryTree()
    assert world.run({"source": "efs:///in", "destination": "s3://a-bucket/x/"})["status"] == "SUCCEEDED"
    assert world.destination.contents()["file"].data == path.read_bytes()


def test_a_hole_that_shrank_while_the_file_was_copied_is_a_changed_source(tmp_path: Path) -> None:
    path = sparse(tmp_path / "in/file", 40 * MIB, {0: b"begin"})
    world = posix_world(tmp_path)
    world.list_all(world.plan(POSIX))
    os.truncate(path, 8 * MIB)
    world.copy_all()
    shards = [key for key in world.ledger.keys("outcomes/shards/") if key.endswith(".jsonl.gz")]
    [row] = [row for key in shards for row in world.ledger.read_rows(key)]
    assert (row["outcome"], row["reason"]) == ("failed", "source changed")
    assert not (tmp_path / "out/file").exists()
