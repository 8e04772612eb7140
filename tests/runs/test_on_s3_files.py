"""Whole runs on a mount of S3 Files, in every direction: what arrives, what is told, and what stays out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.file_system import Behind
from fanout.ports.tree import Tree
from tests.planning.test_bucket_behind_mount import S3_FILES
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import files, reasons
from tests.support.no_links import behave_as_s3_files

PREFIX = "p/" * 100
LOST = ".s3files-lost+found-fs-0123456789abcdef0"
GUARD = {"delete_guard": {"max_percent": 100}}
# 255 bytes of a name are allowed, and 1,024 of a key with the prefix of the mount.
DEEP = "/".join(["d" * 200] * 4)
FITS = f"{DEEP}/fits"
LONG = f"{DEEP}/{'f' * (1024 - len(PREFIX) - len(DEEP))}"
# What a source on another file system has.
_link = os.link


@pytest.fixture(autouse=True)
def _as_s3_files(monkeypatch: pytest.MonkeyPatch) -> None:
    behave_as_s3_files(monkeypatch)


def world_of(source: Tree, destination: Tree, **more: object) -> World:
    world = World(source=source, destination=destination, **more)  # type: ignore[arg-type]
    world.access_points = {"data": S3_FILES}
    world.meter.shown = {S3_FILES: Behind("behind", PREFIX)}
    return world


def to_mount(base: Path, bucket: MemoryTree, run_id: str = "run-1", **more: object) -> World:
    return world_of(bucket, PosixTree(base, "", run_id, "n"), run_id=run_id, **more)


def from_mount(base: Path, bucket: MemoryTree) -> World:
    return world_of(PosixTree(base, "", "run-1", "n", "source"), bucket)


def bucket_of(*paths: str) -> MemoryTree:
    bucket = MemoryTree()
    for path in paths:
        bucket.put(path, Kind.FILE, f"content of {path[-20:]}".encode())
    return bucket


IN: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///"}
OUT: Json = {"source": "efs:///", "destination": "s3://a-bucket/tree/"}


@pytest.mark.parametrize("mode", [{}, {"mode": "sync"} | GUARD, {"mode": "move"}])
def test_what_arrives_is_verified_and_what_is_no_key_is_rejected_by_its_name(tmp_path: Path, mode: Json) -> None:
    bucket = bucket_of("a", "d/b", FITS, LONG)
    world = to_mount(tmp_path, bucket)
    summary = world.run(IN | mode | ({} if mode.get("mode") == "move" else {"verify": "all"}))
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    assert reasons(world) == {LONG: "key over 1,024 bytes"}
    assert sorted(files(tmp_path)) == sorted(["a", "d/b", FITS])
    left = [path for path in ("a", "d/b", FITS, LONG) if bucket.find(path) is not None]
    assert left == ([LONG] if mode.get("mode") == "move" else ["a", "d/b", FITS, LONG])
    assert any("60 seconds after the last write" in note for note in summary["notes"])


def test_a_path_that_just_fits_is_a_key(tmp_path: Path) -> None:
    world = to_mount(tmp_path, bucket_of(LONG[:-1]))
    assert world.run(IN)["status"] == "SUCCEEDED"
    assert len(PREFIX + LONG[:-1]) == 1024
    again = to_mount(tmp_path, bucket_of(LONG), "run-2")
    assert again.run(IN)["status"] == "FAILED_WITH_ITEMS"


@pytest.mark.parametrize("mode", [{}, {"mode": "verify"}])
def test_what_the_mount_holds_and_its_bucket_never_will_is_rejected_too(tmp_path: Path, mode: Json) -> None:
    """Both ends list the files of the directory in columns, and the first one has a place."""
    for end in ("in", "out"):
        for name in ("a", "b" * (1024 - len(PREFIX) - len("out/") - len(DEEP))):
            path = tmp_path / end / DEEP / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("the same")
            os.utime(path, ns=(10**18, 10**18))
    world = world_of(PosixTree(tmp_path, "in", "run-1", "n", "source"), PosixTree(tmp_path, "out", "run-1", "n"))
    summary = world.run({"source": "efs:///in", "destination": "efs:///out"} | mode)
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    of_files = {path[-1]: reason for path, reason in reasons(world).items() if not path.endswith("/")}
    assert of_files == {"b": "key over 1,024 bytes"}


def test_a_run_that_is_resumed_keeps_to_the_same_rules(tmp_path: Path) -> None:
    bucket = bucket_of("a", "b", LONG)
    world = to_mount(tmp_path, bucket)
    world.list_all(world.plan(IN))
    world.copy_all()
    later = to_mount(tmp_path, bucket, "run-2", store=world.store)
    summary = later.run({"resume_from": "run-1", "verify": "all"})
    assert (summary["status"], summary["balanced"]) == ("FAILED_WITH_ITEMS", True)
    assert reasons(later) == {LONG: "key over 1,024 bytes"}
    assert sorted(files(tmp_path)) == ["a", "b"]
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".fanout")]


def test_a_name_that_is_no_utf_8_never_gets_to_the_bucket(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text("latin")
    world = world_of(PosixTree(tmp_path, "in", "run-1", "n", "source"), PosixTree(tmp_path, "out", "run-1", "n"))
    assert world.run({"source": "efs:///in", "destination": "efs:///out"})["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world) == {name: "name is not UTF-8"}


@pytest.mark.parametrize("mode", [{}, {"mode": "sync"} | GUARD, {"mode": "move"}, {"mode": "verify"}])
def test_what_the_service_keeps_at_the_root_is_no_entry_at_either_end(tmp_path: Path, mode: Json) -> None:
    (tmp_path / LOST / "d").mkdir(parents=True)
    (tmp_path / LOST / "d/lost").write_text("what lost against the bucket")
    (tmp_path / "mine").write_text("content of mine")
    out = from_mount(tmp_path, bucket_of(*(["mine"] if mode.get("mode") == "verify" else [])))
    summary = out.run(OUT | mode | ({"verify": "content"} if mode else {}))
    assert summary["status"] == "SUCCEEDED", summary
    assert out.destination.find("mine") is not None
    assert out.destination.find(f"{LOST}/d/lost") is None
    if mode.get("mode") != "verify":
        (tmp_path / "extra").write_text("not at the source")
        back = to_mount(tmp_path, bucket_of("mine"), "run-2")
        assert back.run(IN | mode)["status"] == "SUCCEEDED"
        assert ("extra" in files(tmp_path)) == (mode.get("mode") != "sync")
    assert files(tmp_path)[f"{LOST}/d/lost"] == "what lost against the bucket"


@pytest.mark.parametrize("options", [{}, {"mode": "sync"} | GUARD, {"mode": "move", "on_not_holdable": "allow"}])
def test_each_name_of_a_file_becomes_a_file_of_its_own_and_that_is_told(tmp_path: Path, options: Json) -> None:
    """The links are of a source on EFS, where there are some; the copies are of S3 Files."""
    base = tmp_path / "mounts"
    names = ["a", "b", "d/c"]
    (base / "in/d").mkdir(parents=True)
    (base / "in/a").write_text("one file")
    for name in names[1:]:
        _link(base / "in/a", base / "in" / name)
    world = world_of(PosixTree(base, "in", "run-1", "n", "source"), PosixTree(base, "out", "run-1", "n"))
    verify = {} if options.get("mode") == "move" else {"verify": "all"}
    summary = world.run({"source": "efs:///in", "destination": "efs:///out"} | options | verify)
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True), reasons(world)
    assert files(base / "out") == dict.fromkeys(names, "one file")
    assert len({(base / "out" / name).stat().st_ino for name in names}) == 3
    note = "2 further names of files with several hard links, 16 bytes, are stored as files of their own"
    assert note in summary["notes"]
    if verify:
        assert "S3 Files has none: each name is a file of its own" in str(summary["verification"])
