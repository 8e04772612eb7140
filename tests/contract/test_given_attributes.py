"""Attributes of the request: every adapter shows them at a source, and runs over real adapters set and compare them."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.given_tree import with_given_attributes
from fanout.adapters.posix.tree import PosixTree
from fanout.adapters.s3.client.client import S3Client
from fanout.adapters.s3.tree import S3Tree
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.entry import Attributes
from fanout.ports.tree import Tree
from fanout.request.parts.given_attributes import GivenAttributes, Mtime
from tests.contract.conftest import client_of, new_bucket
from tests.contract.tree_use import entries, finish, read, write
from tests.support.flow import ManualClock, World
from tests.support.s3_servers import S3Server

NS = 1_700_000_000_123_456_789
FROM_S3: Json = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}
GIVEN = {"uid": os.geteuid(), "gid": os.getegid(), "file_mode": "0640", "directory_mode": "2750"}
BIG = b"b" * (2 * tuning.BLOCK_BYTES + 1)
PERMISSIONS, OWNER, GROUP, MTIME = (f"x-amz-meta-file-{name}" for name in ("permissions", "owner", "group", "mtime"))
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def client(moto_server: S3Server) -> S3Client:
    return client_of(moto_server)


@pytest.fixture
def bucket(client: S3Client) -> str:
    """Objects of other tools, and one with all attributes."""
    name = new_bucket(client)
    for key, body in {"plain": b"plain", "deep/er/f": b"deep", "big": BIG, "d/": b"", "d/f": b"f"}.items():
        client.put_object(name, f"in/{key}", body)
    own = {PERMISSIONS: "0100600", OWNER: str(os.geteuid()), GROUP: str(os.getegid()), MTIME: f"{NS}ns"}
    client.put_object(name, "in/own", b"own", own)
    client.put_object(name, "in/link", b"plain", {PERMISSIONS: "0120777"})
    return name


def world_of(client: S3Client, bucket: str, base: Path, run_id: str = "run-1") -> World:
    source, destination = S3Tree(client, bucket, "in/"), PosixTree(base, "out", run_id, "d")
    return World(source=source, destination=destination, run_id=run_id)


def following(world: World, base: Path, run_id: str) -> World:
    later = world.next_run(run_id)
    later.destination = PosixTree(base, "out", run_id, "d")
    return later


def modes(base: Path) -> dict[str, int]:
    return {
        os.fspath(path.relative_to(base / "out")): stat.S_IMODE(path.lstat().st_mode)
        for path in (base / "out").rglob("*")
        if not path.is_symlink()
    }


def failures(world: World) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}


def test_every_source_shows_the_given_attributes(tree: Tree) -> None:
    write(tree, "f", b"content", Attributes(stat.S_IFREG | 0o600, os.geteuid(), os.getegid(), NS, NS))
    finish(tree)
    given = GivenAttributes(4, 5, "0640", override=True, mtime=Mtime.LAST_MODIFIED)
    shown = with_given_attributes(tree, given)
    assert with_given_attributes(tree, GivenAttributes()) is tree
    entry = entries(shown)["f"]
    body, attributes = read(shown, entry)
    seconds = entry.changed_ns - entry.changed_ns % 1_000_000_000
    assert body == b"content"
    expected = (stat.S_IFREG | 0o640, 4, 5, seconds)
    assert (attributes.mode, attributes.uid, attributes.gid, attributes.copied_mtime_ns) == expected
    found = shown.find_stored("f")
    assert found is not None
    if found.attributes is not None:
        assert (found.attributes.mode, found.attributes.uid, found.attributes.gid, found.mtime_ns) == expected
    assert read(tree, entry)[1].mode == stat.S_IFREG | 0o600
    assert shown.find_stored("none") is None


def test_every_source_fills_what_it_does_not_tell(tree: Tree) -> None:
    write(tree, "f", b"content", Attributes(mtime_ns=NS))
    finish(tree)
    shown = with_given_attributes(tree, GivenAttributes(4, 5, "0604", mtime=Mtime.NOW))
    entry = entries(shown)["f"]
    attributes, own = read(shown, entry)[1], read(tree, entry)[1]
    assert attributes.mtime_ns == NS
    if own.mode is None:
        assert (attributes.mode, attributes.uid, attributes.gid) == (stat.S_IFREG | 0o604, 4, 5)
    else:
        assert (attributes.mode, attributes.uid, attributes.gid) == (own.mode, own.uid, own.gid)


@pytest.mark.parametrize("split", [False, True])
def test_objects_without_attributes_get_the_given_ones(
    client: S3Client, bucket: str, tmp_path: Path, split: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    request = {**FROM_S3, "attributes": GIVEN}
    if split:
        request["limits"] = {"split_bytes": tuning.BLOCK_BYTES, "shard_seconds": 0.1}
    world = world_of(client, bucket, tmp_path)
    assert world.run(request | {"verify": "all"})["status"] == "SUCCEEDED", failures(world)
    files = dict.fromkeys(["plain", "big", "d/f", "deep/er/f"], 0o640)
    assert modes(tmp_path) == {**files, "own": 0o600, **dict.fromkeys(["d", "deep", "deep/er"], 0o2750)}
    assert (tmp_path / "out/own").stat().st_mtime_ns == NS
    assert os.readlink(tmp_path / "out/link") == "plain"
    assert (tmp_path / "out/plain").stat().st_mtime_ns % 1_000_000_000 == 0
    again = following(world, tmp_path, "run-2")
    summary = again.run(request)
    assert summary["totals"]["copied"]["entries"] == 0, summary["totals"]
    for name, mode, reason in (("plain", 0o644, "mode differs"), ("d", 0o755, "mode differs")):
        (tmp_path / "out" / name).chmod(mode)
        verification = following(world, tmp_path, f"verify-{name}")
        verification.run({**request, "mode": "verify"})
        assert failures(verification) == {name + "/" * (name == "d"): reason}
        (tmp_path / "out" / name).chmod(0o640 if name == "plain" else 0o2750)


@pytest.mark.skipif(not IS_ROOT, reason="only root gives files to others")
def test_given_owners_are_set_and_compared(client: S3Client, bucket: str, tmp_path: Path) -> None:
    request = {**FROM_S3, "attributes": {"uid": 1000, "gid": 1001, "mtime": "last-modified"}, "verify": "all"}
    world = world_of(client, bucket, tmp_path)
    assert world.run(request)["status"] == "SUCCEEDED", failures(world)
    owned = {path: (path.lstat().st_uid, path.lstat().st_gid) for path in (tmp_path / "out").rglob("*")}
    own = tmp_path / "out/own"
    assert owned.pop(own) == (os.geteuid(), os.getegid())
    assert set(owned.values()) == {(1000, 1001)} and len(owned) == 8
    os.chown(tmp_path / "out/plain", 0, 0)
    os.utime(tmp_path / "out/big", ns=(1, 1))
    verification = following(world, tmp_path, "run-2")
    verification.run({**request, "mode": "verify"})
    assert failures(verification) == {"plain": "owner differs", "big": "mtime differs"}


def test_override_gives_them_to_every_copy(client: S3Client, bucket: str, tmp_path: Path) -> None:
    request = {**FROM_S3, "attributes": {**GIVEN, "mtime": "last-modified", "override": True}, "verify": "all"}
    world = world_of(client, bucket, tmp_path)
    summary = world.run(request)
    assert summary["status"] == "SUCCEEDED", failures(world)
    assert all(one["entries"] is None for one in summary["verification"]["not_compared"])
    own = (tmp_path / "out/own").stat()
    assert stat.S_IMODE(own.st_mode) == 0o640
    assert own.st_mtime_ns != NS and own.st_mtime_ns % 1_000_000_000 == 0


@pytest.mark.parametrize("given", [{"directory_mode": "2750"}, {"gid": os.getegid()}], ids=["mode", "group alone"])
@pytest.mark.parametrize("on_conflict", ["fail", "escape"])
@pytest.mark.parametrize("override", [False, True])
def test_override_repairs_directories_that_keys_imply(
    client: S3Client,
    bucket: str,
    tmp_path: Path,
    given: Json,
    on_conflict: str,
    override: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    request = {**FROM_S3, "on_conflict": on_conflict, "attributes": {**given, "override": override}}
    world = world_of(client, bucket, tmp_path)
    assert world.run(request)["status"] == "SUCCEEDED", failures(world)
    for name in ("deep", "deep/er", "d"):
        (tmp_path / "out" / name).chmod(0o700)
    assert following(world, tmp_path, "run-2").run(request)["status"] == "SUCCEEDED"
    expected = 0o2750 if override and "directory_mode" in given else 0o700
    found = modes(tmp_path)
    assert {name: found[name] for name in ("deep", "deep/er")} == dict.fromkeys(["deep", "deep/er"], expected)
    assert found["d"] == 0o700  # an entry, and unchanged


class FileSystemsClock(ManualClock):
    """The clock by which the files of these tests get their ctime."""

    def __init__(self) -> None:
        super().__init__()
        self.now()

    def now(self) -> float:
        self.time = time.time()
        return self.time


@pytest.mark.parametrize("override", [False, True])
@pytest.mark.parametrize("keeps_index", [True, False])
def test_only_an_index_shows_which_version_a_copy_of_now_is(
    client: S3Client, bucket: str, tmp_path: Path, override: bool, keeps_index: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is that of the copying, which is later than each version that was there before it."""
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    request = {**FROM_S3, "attributes": {"mtime": "now", "override": override}, "verify": "all"}
    if not keeps_index:
        request["on_conflict"] = "escape"
    world = world_of(client, bucket, tmp_path)
    world.clock = FileSystemsClock()
    summary = world.run(request)
    assert summary["status"] == "SUCCEEDED", failures(world)
    assert "mtime" in [one["what"] for one in summary["verification"]["not_compared"]]
    plain, own = (tmp_path / "out" / name for name in ("plain", "own"))
    assert plain.stat().st_mtime_ns % 1_000_000_000
    assert (own.stat().st_mtime_ns == NS) is not override
    seen = summary["totals"]["copied"]["entries"]
    for number in (2, 3):
        again = following(world, tmp_path, f"run-{number}").run(request)["totals"]["copied"]["entries"]
        assert again == 0 if keeps_index else 1 < again <= seen, (number, again)
    os.utime(plain, ns=(1, 1))
    again = following(world, tmp_path, "run-4").run(request)["totals"]["copied"]["entries"]
    assert again == 1 if keeps_index else 1 < again <= seen


def test_the_directories_above_the_entries_of_a_manifest(client: S3Client, bucket: str, tmp_path: Path) -> None:
    world = world_of(client, bucket, tmp_path)
    world.objects.put("lists", "a.jsonl", b'{"path": "deep/er/f"}\n{"path": "d/f"}\n')
    request = {**FROM_S3, "manifest": "s3://lists/a.jsonl", "attributes": {**GIVEN, "override": True}}
    assert world.run(request)["status"] == "SUCCEEDED", failures(world)
    assert modes(tmp_path) == {"deep": 0o2750, "deep/er": 0o2750, "deep/er/f": 0o640, "d": 0o2750, "d/f": 0o640}


def test_without_the_field_nothing_changes(client: S3Client, bucket: str, tmp_path: Path) -> None:
    world = world_of(client, bucket, tmp_path)
    assert world.run(FROM_S3)["status"] == "SUCCEEDED", failures(world)
    files = dict.fromkeys(["plain", "big", "d/f", "deep/er/f"], 0o644)
    assert modes(tmp_path) == {**files, "own": 0o600, **dict.fromkeys(["d", "deep", "deep/er"], 0o755)}


def filled(root: Path) -> None:
    (root / "d/empty").mkdir(parents=True)
    (root / "d/f").write_text("content")
    (root / "d/f").chmod(0o600)
    os.link(root / "d/f", root / "second name")
    (root / "link").symlink_to("d/f")
    for name in ("d/f", "d/empty", "d", "link"):
        os.utime(root / name, ns=(NS, NS), follow_symlinks=False)


def test_override_from_a_mount(client: S3Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    filled(tmp_path / "in")
    request = {"source": "efs:///in", "destination": "efs:///out", "attributes": {**GIVEN, "override": True}}

    def world_at(run_id: str, destination: Tree) -> World:
        return World(source=PosixTree(tmp_path, "in", run_id, "s", "source"), destination=destination, run_id=run_id)

    world = world_at("run-1", PosixTree(tmp_path, "out", "run-1", "d"))
    assert world.run(request | {"verify": "all"})["status"] == "SUCCEEDED", failures(world)
    assert modes(tmp_path) == {"d": 0o2750, "d/empty": 0o2750, "d/f": 0o640, "second name": 0o640}
    assert (tmp_path / "out/d/f").stat().st_mtime_ns == NS
    assert (tmp_path / "out/d/f").stat().st_nlink == 2
    again = following(world, tmp_path, "run-2").run(request)
    assert again["totals"]["copied"]["entries"] == 0, again["totals"]
    bucket = new_bucket(client)
    to_s3 = world_at("run-3", S3Tree(client, bucket, "out/"))
    to_s3.run(request | {"destination": "s3://a-bucket/out/", "verify": "all"})
    assert failures(to_s3) == {}
    assert client.head_object(bucket, "out/d/f").headers[PERMISSIONS] == "0100640"
    assert client.head_object(bucket, "out/d/").headers[PERMISSIONS] == "0042750"


def test_entries_of_the_wrapped_tree_are_the_trees_own(tree: Tree) -> None:
    write(tree, "f", b"content")
    shown: Any = with_given_attributes(tree, GivenAttributes(uid=1))
    assert entries(shown) == entries(tree)
    assert shown.find("f") == tree.find("f")
    assert shown.overlaps is tree.overlaps and (shown.file_system is None) is (tree.file_system is None)


@pytest.mark.skipif(not IS_ROOT, reason="owners are set by root alone")
def test_what_s3fs_wrote_is_on_the_copy_and_is_compared(client: S3Client, tmp_path: Path) -> None:
    name = new_bucket(client)
    wrote = {"mode": "33184", "uid": "1000", "gid": "1001", "mtime": "1700000000.25"}
    file = {f"x-amz-meta-{key}": value for key, value in wrote.items()}
    link = {**file, "x-amz-meta-mode": str(stat.S_IFLNK | 0o777)}
    client.put_object(name, "in/d/f", b"of s3fs", file)
    client.put_object(name, "in/d/", b"", {**file, "x-amz-meta-mode": str(stat.S_IFDIR | 0o750)})
    client.put_object(name, "in/l", b"d/f", link)
    request = {**FROM_S3, "attributes": {"from": "s3fs"}, "verify": "all"}
    world = world_of(client, name, tmp_path)
    first = world.run(request)
    assert (first["status"], first["totals"]["copied"]["entries"]) == ("SUCCEEDED", 3)
    assert not any("not read" in note for note in first["notes"])
    found = (tmp_path / "out/d/f").lstat()
    assert (oct(found.st_mode), found.st_uid, found.st_gid) == ("0o100640", 1000, 1001)
    assert found.st_mtime_ns == 1_700_000_000_250_000_000
    assert stat.S_IMODE((tmp_path / "out/d").stat().st_mode) == 0o750
    assert os.readlink(tmp_path / "out/l") == "d/f"
    compares = {**FROM_S3, "attributes": {"from": "s3fs"}, "mode": "verify"}
    assert following(world, tmp_path, "run-2").run(compares)["status"] == "SUCCEEDED"
    (tmp_path / "out/d/f").chmod(0o600)
    assert following(world, tmp_path, "run-3").run(compares)["verification"]["differences"] == 1
