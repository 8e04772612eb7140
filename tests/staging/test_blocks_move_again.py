"""A move that was stopped in the blocks of a big file: a retry reads no block again that was read and still holds."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from fanout.adapters.posix.source import FileSource
from fanout.facts.tuning import BLOCK_BYTES
from fanout.finishing.finish_tree import finish_tree
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.summary import stopping
from fanout.verifying.begin_verification import begin_verification
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard
from tests.support.two_mounts import TwoMounts

BLOCKS = 4
MOVE: Json = {"mode": "move", "limits": {"split_bytes": BLOCK_BYTES, "shard_seconds": 0.1}}
CONTENT = os.urandom((BLOCKS - 1) * BLOCK_BYTES + 7)
SHARDS = 2
LEFT = {0, 1}


@pytest.fixture
def stopped(tmp_path: Path) -> TwoMounts:
    """A move that copied a big file, and compared all of its blocks but the first two."""
    flow = TwoMounts(tmp_path)
    flow.source_root.mkdir(parents=True, exist_ok=True)
    (flow.source_root / "big").write_bytes(CONTENT)
    flow.list_all(MOVE)
    flow.copy_all()
    finish_tree(flow.destination())
    begun = begin_verification(flow.neither(), "work")
    outer, flow.world = flow.world, dataclasses.replace(flow.world, prefix=begun["run"]["prefix"])
    flow.list_rounds(begun["list"])
    shards = flow.shards()
    assert len(shards) == SHARDS
    for shard in shards[1:]:
        assert digest_shard(shard, flow.source())["done"]
        assert verify_shard(shard, flow.destination())["done"]
    flow.world = outer
    return flow


class Reads:
    """The blocks of the files at either end that are read from now on."""

    def __init__(self, flow: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
        self.source: set[int] = set()
        self.destination: set[int] = set()
        read, inode = FileSource.read, (flow.source_root / "big").stat().st_ino

        def noted(source: FileSource, offset: int, length: int) -> bytes:
            there = self.source if os.fstat(source._descriptor).st_ino == inode else self.destination
            there.add(offset // BLOCK_BYTES)
            return read(source, offset, length)

        monkeypatch.setattr(FileSource, "read", noted)


def following(flow: TwoMounts, run_id: str = "run-2") -> TwoMounts:
    """The run that resumes it, before its comparison."""
    again = flow.next_run(run_id)
    again.list_all({**MOVE, "resume_from": flow.run_id})
    again.copy_all()
    finish_tree(again.destination())
    return again


def rewritten(file: Path, at: int) -> None:
    """Another byte in place, with the mtime set back."""
    before = file.stat()
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(bytes([CONTENT[at] ^ 1]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_only_the_blocks_that_are_left_are_read(stopped: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    again = following(stopped)
    reads = Reads(stopped, monkeypatch)
    summary = again.end("all")
    assert summary["status"] == "SUCCEEDED", again.failures()
    assert (reads.source, reads.destination) == (LEFT, LEFT)
    assert not (stopped.source_root / "big").exists()
    assert (stopped.root / "big").read_bytes() == CONTENT


def test_a_retry_of_a_retry_takes_over_what_either_read(stopped: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    second = following(stopped)
    begin_verification(second.neither(), "work")  # stopped before it compared
    third = following(second, "run-3")
    reads = Reads(stopped, monkeypatch)
    assert third.end("all")["status"] == "SUCCEEDED", third.failures()
    assert (reads.source, reads.destination) == (LEFT, LEFT)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_copy_that_was_written_since_is_read_again_and_the_source_stays(
    stopped: TwoMounts, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    again = following(stopped)
    rewritten(stopped.root / "big", block * BLOCK_BYTES)
    reads = Reads(stopped, monkeypatch)
    assert again.end("all")["status"] == "FAILED_WITH_ITEMS"
    assert reads.destination == set(range(BLOCKS))
    assert (stopped.source_root / "big").read_bytes() == CONTENT


def test_a_source_that_was_written_since_is_read_again(stopped: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten(stopped.source_root / "big", BLOCK_BYTES)
    again = following(stopped)
    reads = Reads(stopped, monkeypatch)
    again.end("all")
    assert reads.source == set(range(BLOCKS))


def test_a_copy_that_is_written_while_its_blocks_are_compared_keeps_the_source(stopped: TwoMounts) -> None:
    again = following(stopped)
    begun = begin_verification(again.neither(), "work")
    outer, again.world = again.world, dataclasses.replace(again.world, prefix=begun["run"]["prefix"])
    again.list_rounds(begun["list"])
    for number, shard in enumerate(again.shards()):
        digest_shard(shard, again.source())
        verify_shard(shard, again.destination())
        if number == 0:
            rewritten(stopped.root / "big", 0)  # a block that is compared already
    again.delete_all()
    again.world = outer
    assert (stopped.source_root / "big").read_bytes() == CONTENT


def test_a_run_that_reads_a_block_got_further(stopped: TwoMounts) -> None:
    assert stopping._proven_anew(stopped.world.ledger.verification())
    again = following(stopped)
    begun = begin_verification(again.neither(), "work")
    again.world = dataclasses.replace(again.world, prefix=begun["run"]["prefix"])
    again.list_rounds(begun["list"])
    comparison = again.world.ledger
    for number in (1, 0):
        shard = again.shards()[number]
        digest_shard(shard, again.source())
        verify_shard(shard, again.destination())
        assert list(comparison.keys(keys.outcomes_prefix(keys.source_id(shard.id))))
        assert stopping._proven_anew(comparison) is (number == 0)
