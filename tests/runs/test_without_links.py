"""Whole runs to a mount that has no hard links, as S3 Files: what stays as it is, and what is refused."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.remove_directories import remove_directories
from fanout.facts import tuning
from fanout.model.errors import InvalidRequest
from fanout.model.path_rules import STAGING_PREFIX
from tests.runs.test_backup import REQUEST_KEPT, filled, put, seen
from tests.runs.test_backup import world_of as world_keeping
from tests.support.flow import World
from tests.support.mounts import REQUEST, files, world_of
from tests.support.no_links import refuse_links
from tests.support.publishing import PublishingWorld

SYNC = {**REQUEST, "mode": "sync", "verify": "all", "delete_guard": {"max_percent": 100}}
# What the kernel and an NFS server may answer to a LINK that the file system does not know.
ANSWERS = [errno.EPERM, errno.EOPNOTSUPP, 524]


@pytest.mark.parametrize("code", ANSWERS)
def test_a_sync_places_each_file_by_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    filled(tmp_path)
    put(tmp_path / "in/in-blocks", "block " * (tuning.BLOCK_BYTES // 2))
    refuse_links(monkeypatch, code)
    summary = world_of(tmp_path).run({**SYNC, "limits": {"split_bytes": tuning.BLOCK_BYTES}})
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True), summary
    placed, given = (seen(tmp_path / end) for end in ("out", "in"))
    assert {path: found[1:] for path, found in placed.items()} == {path: found[1:] for path, found in given.items()}
    assert not [name for name in os.listdir(tmp_path / "out") if name.startswith(STAGING_PREFIX)]


@pytest.mark.parametrize("code", ANSWERS)
def test_a_backup_is_refused_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    put(tmp_path / "in/changed", "ours")
    put(tmp_path / "in/new", "ours")
    put(tmp_path / "out/changed", "theirs is longer")
    refuse_links(monkeypatch, code)
    world = world_keeping(tmp_path, "run-1")
    with pytest.raises(InvalidRequest, match=r"backup_to: .*has no hard links, by which what is replaced"):
        world.run(REQUEST_KEPT)
    assert files(tmp_path / "out") == {"changed": "theirs is longer"}


def test_never_leaves_what_is_there_and_places_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "in/old", "ours")
    put(tmp_path / "in/new", "ours", 0o600)
    put(tmp_path / "out/old", "theirs")
    refuse_links(monkeypatch)
    summary = world_of(tmp_path).run({**REQUEST, "overwrite": "never"})
    assert summary["status"] == "SUCCEEDED"
    assert files(tmp_path / "out") == {"old": "theirs", "new": "ours"}
    assert stat.S_IMODE((tmp_path / "out/new").stat().st_mode) == 0o600


@pytest.mark.parametrize("code", ANSWERS)
def test_publishing_is_refused_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    refuse_links(monkeypatch, code)
    with pytest.raises(InvalidRequest) as refused:
        PublishingWorld(run_id="v1", mount=tmp_path).publish()
    assert str(refused.value).startswith("publish: the file system has no hard links, by which versions share files")


@pytest.mark.parametrize("code", ANSWERS)
def test_a_move_to_a_bucket_is_refused_and_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """As the state machine goes on after a refusal; the mount may show the bucket, where a mark comes a minute late."""
    put(tmp_path / "in/deep/file", "ours")
    before = seen(tmp_path / "in")
    refuse_links(monkeypatch, code)
    world = World(source=PosixTree(tmp_path, "in", "run-1", "n", "source"))
    with pytest.raises(InvalidRequest, match="may show the bucket itself"):
        world.run({"source": "efs:///in", "destination": "s3://a-bucket/in/", "mode": "move"})
    remove_directories(world.context(), broken=True)
    assert seen(tmp_path / "in") == before
    assert os.listdir(tmp_path / "in") == ["deep"]
