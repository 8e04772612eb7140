"""`backup_to`: whole runs keep what they replace and delete, and an ordinary transfer brings it back."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.model.location import MountLocation
from fanout.request.parse import parse_request
from tests.support.flow import World
from tests.support.mounts import REQUEST
from tests.support.two_mounts import TwoMounts

REQUEST_KEPT = {**REQUEST, "backup_to": "efs:///kept", "delete_guard": {"max_percent": 100}}
OLD_NS = 1_600_000_000_000_000_001
Seen = dict[str, tuple[int, int, int, str]]


def put(path: Path, text: str, mode: int = 0o640) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    os.utime(path, ns=(OLD_NS, OLD_NS))


def seen(root: Path) -> Seen:
    """Inode, mode, mtime and content of each file and symlink."""
    found: Seen = {}
    for path in sorted(root.rglob("*")):
        here = path.lstat()
        if not stat.S_ISDIR(here.st_mode):
            text = str(path.readlink()) if path.is_symlink() else path.read_text()
            found[str(path.relative_to(root))] = (here.st_ino, here.st_mode, here.st_mtime_ns, text)
    return found


def filled(mount: Path) -> Seen:
    """Both ends; returns what the destination held."""
    put(mount / "in/d/changed", "ours")
    put(mount / "in/d/new", "ours")
    put(mount / "in/d/same", "same")
    put(mount / "in/big", "b" * 70_000)
    (mount / "in/link").symlink_to("d/new")
    put(mount / "out/d/changed", "theirs", 0o600)
    put(mount / "out/d/same", "same")
    put(mount / "out/big", "a" * 60_000)
    put(mount / "out/gone/deep/extra", "extra", 0o604)
    (mount / "out/gone/empty").mkdir()
    (mount / "out/gone/deep").chmod(0o711)
    (mount / "out/link").symlink_to("d/other")
    return seen(mount / "out")


def world_of(mount: Path, run_id: str, *, source: str = "in", backup_to: str = "kept/") -> World:
    return World(
        source=PosixTree(mount, source, run_id, "s", "source"),
        destination=PosixTree(mount, "out", run_id, "d", backup_to=backup_to),
        run_id=run_id,
    )


def test_a_sync_keeps_what_it_replaces_and_deletes_and_a_transfer_brings_it_back(tmp_path: Path) -> None:
    before = filled(tmp_path)
    (tmp_path / "out/d").chmod(0o750)
    summary = world_of(tmp_path, "run-1").run({**REQUEST_KEPT, "mode": "sync"})
    assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True)
    assert summary["totals"]["deleted"]["entries"] == 4
    expected = {path: found for path, found in before.items() if path != "d/same"}
    kept = seen(tmp_path / "kept/run-1")
    assert kept.pop("d/same", before["d/same"]) == before["d/same"]  # copied again, if listed within its margin
    assert kept == expected
    assert (tmp_path / "kept/run-1/gone/empty").is_dir()
    assert stat.S_IMODE((tmp_path / "kept/run-1/gone/deep").stat().st_mode) == 0o711
    assert not (tmp_path / "out/gone").exists()

    back = {"source": "efs:///kept/run-1", "destination": "efs:///out", "compare": "always"}
    restored = world_of(tmp_path, "run-2", source="kept/run-1", backup_to="").run(back)
    assert restored["status"] == "SUCCEEDED"
    after = seen(tmp_path / "out")
    assert {path: found[1:] for path, found in after.items() if path != "d/new"} == {
        path: found[1:] for path, found in before.items()
    }
    assert stat.S_IMODE((tmp_path / "out/gone/deep").stat().st_mode) == 0o711
    assert stat.S_IMODE((tmp_path / "out/d").stat().st_mode) == 0o750


def test_each_run_keeps_below_its_own_id(tmp_path: Path) -> None:
    put(tmp_path / "in/f", "two")
    put(tmp_path / "out/f", "first")
    world_of(tmp_path, "run-1").run(REQUEST_KEPT)
    put(tmp_path / "in/f", "third")
    world_of(tmp_path, "run-2").run(REQUEST_KEPT)
    assert [(tmp_path / "kept" / run / "f").read_text() for run in ("run-1", "run-2")] == ["first", "two"]


def test_a_plan_keeps_nothing(tmp_path: Path) -> None:
    filled(tmp_path)
    world_of(tmp_path, "run-1").run({**REQUEST_KEPT, "mode": "plan"})
    assert not (tmp_path / "kept").exists()


def test_between_two_mounts_the_destinations_mount_keeps(tmp_path: Path) -> None:
    two = TwoMounts(tmp_path)
    two.world.destination = PosixTree(tmp_path / "archive", "out", "run-1", "d", backup_to="kept/")
    put(two.source_root / "f", "ours")
    put(two.root / "f", "theirs")
    summary = two.run({"backup_to": "efs://archive/kept"})
    assert summary["balanced"]
    assert (two.root / "f").read_text() == "ours"
    assert (tmp_path / "archive/kept/run-1/f").read_text() == "theirs"


BAD: list[tuple[Json, str]] = [
    ({"destination": "s3://a-bucket/x/", "backup_to": "s3://a-bucket/kept/"}, r"is a bucket.*versioning"),
    ({"backup_to": "s3://a-bucket/kept/"}, r"file system of the destination.*efs://data/backups"),
    ({"backup_to": "efs://other/kept"}, r"file system of the destination"),
    ({"backup_to": "efs:///out/kept"}, r"inside or above the destination"),
    ({"backup_to": "efs:///"}, r"inside or above the destination"),
    ({"backup_to": "efs:///in/kept"}, r"inside or above the source"),
    ({"backup_to": "efs:///../kept"}, r"name component"),
    ({"backup_to": "kept"}, r"is not a location"),
]


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_a_backup_that_cannot_be_is_refused_by_name(fields: Json, message: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^backup_to: .*" + message):
        parse_request({**REQUEST, **fields}, ("data", "other"), 10)


def test_a_backup_beside_the_tree_is_taken() -> None:
    found = parse_request(REQUEST_KEPT, ("data",), 10)
    assert found.backup_to == MountLocation("data", "kept")
