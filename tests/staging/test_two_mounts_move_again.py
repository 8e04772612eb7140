"""A move between two mounts that was stopped while it compared: a retry reads nothing again that was proven."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from fanout.adapters.posix.source import FileSource
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.verifying.begin_verification import begin_verification
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard
from tests.support.two_mounts import TwoMounts

FILES = {f"d{number % 4}/f{number:02d}": bytes([number]) * (number + 1) for number in range(20)}


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TwoMounts:
    """A move that copied all, and compared all of its shards but one."""
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 5)
    flow = TwoMounts(tmp_path)
    for path, data in FILES.items():
        (flow.source_root / path).parent.mkdir(parents=True, exist_ok=True)
        (flow.source_root / path).write_bytes(data)
    flow.list_all({"mode": "move", "limits": {"shard_seconds": 0.1}})
    flow.copy_all()
    finish_tree(flow.destination())
    begun = begin_verification(flow.neither(), "work")
    outer, flow.world = flow.world, dataclasses.replace(flow.world, prefix=begun["run"]["prefix"])
    flow.list_rounds(begun["list"])
    for shard in flow.shards()[1:]:
        assert digest_shard(shard, flow.source())["done"]
        assert verify_shard(shard, flow.destination())["done"]
    flow.world = outer
    return flow


def following(flow: TwoMounts, reads: list[str], monkeypatch: pytest.MonkeyPatch) -> TwoMounts:
    """The run that resumes it; ``reads`` gets the files that are read at the source while it compares."""
    again = flow.next_run("run-2")
    again.list_all({"mode": "move", "resume_from": "run-1"})
    again.copy_all()
    finish_tree(again.destination())
    read = FileSource.read

    def noted(self: FileSource, offset: int, length: int) -> bytes:
        reads.append(self._entry.path)
        return read(self, offset, length)

    monkeypatch.setattr(FileSource, "read", noted)
    return again


def test_what_was_proven_is_not_read_again(stopped: TwoMounts, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    again = following(stopped, reads, monkeypatch)
    summary = again.end("all")
    assert summary["status"] == "SUCCEEDED", again.failures()
    assert 0 < len(set(reads)) < len(FILES)
    assert not [path for path in stopped.source_root.rglob("*") if path.is_file()]
    assert {path: (stopped.root / path).read_bytes() for path in FILES} == FILES


def test_a_source_that_was_written_in_place_since_is_read_again_and_stays(
    stopped: TwoMounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {path for path in FILES if len(FILES[path]) > 1}
    for path in changed:
        file = stopped.source_root / path
        before = file.stat()
        file.write_bytes(b"!" * before.st_size)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    reads: list[str] = []
    again = following(stopped, reads, monkeypatch)
    assert again.end("all")["status"] == "FAILED_WITH_ITEMS"
    assert changed <= set(reads)
    assert all((stopped.source_root / path).exists() for path in changed)


def test_a_copy_that_was_written_since_is_compared_with_what_the_proof_says(
    stopped: TwoMounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = following(stopped, [], monkeypatch)
    for path in FILES:
        file = stopped.root / path
        before = file.stat()
        file.write_bytes(b"!" * before.st_size)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert again.end("all")["status"] == "FAILED_WITH_ITEMS"
    assert set(again.failures()) == set(FILES)
    assert {path: (stopped.source_root / path).read_bytes() for path in FILES} == FILES
