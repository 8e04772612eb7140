"""What is behind a mount of S3 Files is asked for; ends that are one place, and what it cannot do, are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.efs.measure import FILE_SYSTEMS
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest, Unreachable
from fanout.model.file_system import Behind, ThroughputMode
from tests.planning.test_bucket_behind_mount import S3_FILES
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.no_links import refuse_links

EFS = "arn:aws:elasticfilesystem:eu-west-1:111122223333:access-point/fsap-0123456789abcdef0"
MODES: list[Json] = [{}, {"mode": "verify"}, {"mode": "plan"}, {"mode": "move"}, {"mode": "sync"}]


def world_of(base: Path, behind: Behind | None = None, *, from_bucket: bool = True) -> World:
    """A world whose mount is one of S3 Files and shows that place."""
    bucket = MemoryTree()
    bucket.put("file", Kind.FILE, b"file")
    (base / "tree").mkdir(exist_ok=True)
    mount = PosixTree(base, "tree", "run-1", "n", "destination" if from_bucket else "source")
    world = World(source=bucket, destination=mount) if from_bucket else World(source=mount, destination=bucket)
    world.access_points = {"data": S3_FILES}
    world.meter.shown = {} if behind is None else {S3_FILES: behind}
    return world


def between(bucket: str, *, from_bucket: bool = True) -> Json:
    ends = (bucket, "efs:///tree") if from_bucket else ("efs:///tree", bucket)
    return dict(zip(("source", "destination"), ends, strict=True))


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize("from_bucket", [True, False])
@pytest.mark.parametrize("key", ["", "p/", "p/tree/", "p/tree/deeper/"])
def test_a_bucket_and_the_mount_that_shows_it_are_one_place(
    tmp_path: Path, options: Json, from_bucket: bool, key: str
) -> None:
    request = between(f"s3://a-bucket/{key}", from_bucket=from_bucket) | options
    world = world_of(tmp_path, Behind("a-bucket", "p/"), from_bucket=from_bucket)
    with pytest.raises(InvalidRequest, match="efs://data/tree shows s3://a-bucket/p/tree/") as refused:
        world.plan(request)
    assert refused.value.field == "destination"
    assert not list(world.ledger.keys(""))
    assert not list((tmp_path / "tree").iterdir())


@pytest.mark.parametrize("place", ["s3://a-bucket/other/", "s3://a-bucket/p/tree-2/", "s3://another/p/tree/"])
@pytest.mark.parametrize("from_bucket", [True, False])
@pytest.mark.parametrize("options", [{"mode": "move"}, {"mode": "sync", "delete_guard": {"max_percent": 100}}])
def test_a_run_that_deletes_goes_on_where_the_mount_shows_another_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, from_bucket: bool, options: Json
) -> None:
    refuse_links(monkeypatch)
    world = world_of(tmp_path, Behind("a-bucket", "p/"), from_bucket=from_bucket)
    if not from_bucket:
        (tmp_path / "tree/file").write_text("file")
    assert world.run(between(place, from_bucket=from_bucket) | options)["status"] == "SUCCEEDED"


@pytest.mark.parametrize("place", ["s3://some-1a2b3c4d5e6f7g8h9i0j1k2l3m4n5o6p7q8r9-s3alias/p/", "s3://another/p/"])
def test_where_the_service_does_not_tell_or_the_bucket_has_an_alias_it_is_refused_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    refuse_links(monkeypatch)
    world = world_of(tmp_path, Behind("a-bucket", "p/") if "alias" in place else None)
    with pytest.raises(InvalidRequest, match="may show the bucket itself"):
        world.plan(between(place) | {"mode": "move"})


def test_a_copy_goes_on_where_the_service_does_not_tell_and_a_note_says_what_follows(tmp_path: Path) -> None:
    world = world_of(tmp_path)
    world.meter.refuses = Unreachable("no way there")
    world.file_system_ids = {"data": "fs-1"}
    summary = world.run(between("s3://a-bucket/p/"))
    assert summary["status"] == "SUCCEEDED"
    said = "S3 Files did not tell which bucket efs://data/ shows (Unreachable: no way there)"
    assert any(said in note for note in summary["notes"])


@pytest.mark.parametrize("options", [{}, {"mode": "verify"}, {"mode": "plan"}])
@pytest.mark.parametrize("from_bucket", [True, False])
def test_a_run_that_deletes_nothing_says_that_an_alias_tells_no_bucket(
    tmp_path: Path, options: Json, from_bucket: bool
) -> None:
    alias = "some-1a2b3c4d5e6f7g8h9i0j1k2l3m4n5o6p7q8r9-s3alias"
    for bucket, is_noted in ((f"s3://{alias}/p/", True), ("s3://another/p/", False)):
        world = world_of(tmp_path, Behind("a-bucket", "p/"), from_bucket=from_bucket)
        world.run_id = f"run-of-{bucket[5:9]}"
        notes = world.run(between(bucket, from_bucket=from_bucket) | options)["notes"]
        said = [note for note in notes if "is an alias, which tells no bucket" in note]
        assert [note.split(" ")[0] for note in said] == [bucket] * is_noted


def test_the_work_bucket_behind_a_mount_is_no_end(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"destination: efs://data/tree shows the stack's work bucket"):
        world_of(tmp_path, Behind("work")).plan(between("s3://a-bucket/p/"))


def test_two_mounts_of_one_place_are_one_and_a_mount_of_efs_is_not_asked_about(tmp_path: Path) -> None:
    world = world_of(tmp_path, Behind("a-bucket", "p/"))
    world.mounts = ("data", "archive")
    second = S3_FILES.replace("fsap-0", "fsap-1")
    world.access_points = {"data": S3_FILES, "archive": second}
    world.meter.shown[second] = Behind("a-bucket", "")
    request = {"source": "efs://archive/p", "destination": "efs://data/"}
    with pytest.raises(InvalidRequest, match="efs://archive/p shows s3://a-bucket/p/"):
        world.plan(request)
    world.access_points = {"data": EFS, "archive": EFS}
    world.meter.refuses = AssertionError("asked")  # type: ignore[assignment]
    world.plan(request)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (
            {"publish": {"link": "current"}},
            "publish: efs://data/tree is of S3 Files, which has no hard links, by which",
        ),
        ({"backup_to": "efs:///kept"}, "backup_to: efs://data/tree is of S3 Files, which has no hard links, by which"),
    ],
)
def test_what_needs_hard_links_is_refused_at_the_plan_by_its_name(tmp_path: Path, option: Json, says: str) -> None:
    world = world_of(tmp_path, Behind("a-bucket", "p/"))
    with pytest.raises(InvalidRequest) as refused:
        world.plan(between("s3://another/p/") | option)
    assert str(refused.value).startswith(says)
    assert not list(world.ledger.keys(""))


def test_neither_efs_nor_cloudwatch_is_asked_about_it(tmp_path: Path) -> None:
    world = world_of(tmp_path, Behind("a-bucket", "p/"))
    world.file_system_ids = {"data": "fs-1"}
    world.plan(between("s3://another/p/"))
    found = world.ledger.read(FILE_SYSTEMS)
    assert found.mounts["data"].mode is ThroughputMode.ELASTIC
    assert found.mounts["data"].assumptions == (
        "fs-1 is of S3 Files: the figures and prices of EFS in the mode elastic are assumed",
    )
