"""A run that deletes is refused between ends that may be one bucket: a mount without hard links may show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest, Unreachable
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.no_links import refuse_links
from tests.support.two_mounts import TwoMounts

IN, OUT = {"source": "s3://a-bucket/p/"}, {"destination": "s3://a-bucket/p/"}
FROM_MOUNT, TO_MOUNT = {"source": "efs:///in"} | OUT, IN | {"destination": "efs:///out"}
S3_FILES = "arn:aws:s3files:eu-west-1:111122223333:file-system/fs-0123456789abcdef0/access-point/fsap-0123456789abcdef0"
SYNC = {"mode": "sync", "delete_guard": {"max_percent": 100}}


def world_of(base: Path, request: Json) -> World:
    bucket = MemoryTree()
    bucket.put("file", Kind.FILE, b"file")
    (base / "in").mkdir()
    (base / "in/file").write_text("file")
    if request["source"].startswith("efs"):
        return World(source=PosixTree(base, "in", "run-1", "n", "source"), destination=bucket)
    return World(source=bucket, destination=PosixTree(base, "out", "run-1", "n"))


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        (FROM_MOUNT | {"mode": "move"}, "source"),
        (TO_MOUNT | {"mode": "move"}, "destination"),
        (TO_MOUNT | SYNC, "destination"),
    ],
)
def test_a_run_that_deletes_between_a_bucket_and_a_mount_without_hard_links_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Json, field: str
) -> None:
    refuse_links(monkeypatch)
    with pytest.raises(InvalidRequest) as refused:
        world_of(tmp_path, request_).plan(request_)
    ends = (request_["source"], request_["destination"])
    said = [end.replace("efs:///", "efs://data/") for end in ends]
    assert refused.value.field == field
    assert f"from {said[0]} to {said[1]} deletes" in str(refused.value)
    assert "has no hard links, as S3 Files: it may show the bucket itself" in str(refused.value)
    assert not list(tmp_path.rglob(".fanout-*"))


@pytest.mark.parametrize("request_", [FROM_MOUNT | {"mode": "move"}, TO_MOUNT | {"mode": "move"}, TO_MOUNT | SYNC])
def test_with_hard_links_it_goes_on(tmp_path: Path, request_: Json) -> None:
    world_of(tmp_path, request_).plan(request_)


@pytest.mark.parametrize("request_", [FROM_MOUNT | {"mode": "move"}, TO_MOUNT | {"mode": "move"}, TO_MOUNT | SYNC])
def test_of_s3_files_that_does_not_tell_it_is_refused_as_the_note_says_whatever_links_are_had(
    tmp_path: Path, request_: Json
) -> None:
    world = world_of(tmp_path, request_)
    world.access_points = {"data": S3_FILES}
    world.meter.refuses = Unreachable("no way there")
    with pytest.raises(InvalidRequest, match="S3 Files: it may show the bucket itself"):
        world.plan(request_)


@pytest.mark.parametrize("request_", [FROM_MOUNT, TO_MOUNT, TO_MOUNT | {"mode": "verify"}])
def test_a_run_that_deletes_nothing_goes_on_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: Json
) -> None:
    (tmp_path / "out").mkdir()
    refuse_links(monkeypatch)
    world_of(tmp_path, request_).plan(request_)


@pytest.mark.parametrize("is_s3_files", [True, False])
def test_of_a_source_that_a_sync_only_reads_the_stack_tells_whether_it_is_s3_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_s3_files: bool
) -> None:
    refuse_links(monkeypatch)
    world = world_of(tmp_path, FROM_MOUNT)
    world.access_points = {"data": S3_FILES} if is_s3_files else {}
    before = {one: one.stat().st_mtime_ns for one in (tmp_path / "in", tmp_path / "in/file")}
    if is_s3_files:
        with pytest.raises(InvalidRequest, match=r"source: .*may show the bucket itself"):
            world.plan(FROM_MOUNT | SYNC)
    else:
        world.plan(FROM_MOUNT | SYNC)
    assert {one: one.stat().st_mtime_ns for one in before} == before


def mounts_of(base: Path, ids: Json) -> TwoMounts:
    (base / "data/in").mkdir(parents=True)
    (base / "data/in/file").write_text("file")
    mounts = TwoMounts(base)
    mounts.world.file_system_ids = ids
    return mounts


@pytest.mark.parametrize("ids", [{}, {"data": "fs-1", "archive": "fs-2"}])
@pytest.mark.parametrize("mode", ["move", "sync"])
def test_two_mounts_that_may_show_one_bucket_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: Json, mode: str
) -> None:
    refuse_links(monkeypatch)
    mounts = mounts_of(tmp_path, ids)
    mounts.world.access_points = {"data": S3_FILES, "archive": S3_FILES}
    with pytest.raises(InvalidRequest, match=r"source: .*may show the bucket itself"):
        mounts.list_all({"mode": mode})
    assert (tmp_path / "data/in/file").read_text() == "file"
    assert not list((tmp_path / "data").rglob(".fanout-*"))


def test_on_two_mounts_of_one_file_system_the_mark_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_links(monkeypatch)
    mounts_of(tmp_path, {"data": "fs-1", "archive": "fs-1"}).list_all({"mode": "move"})


def test_one_mount_with_hard_links_of_two_is_enough(tmp_path: Path) -> None:
    mounts_of(tmp_path, {}).list_all({"mode": "move"})
