"""Modes, times and owners of all that a tree holds, from a file system to a file system and by way of a store."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.adapters.posix.tree import PosixTree
from fanout.listing.directories.parents import OpenDirectories
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.segment import Segment
from fanout.request.parts.allowed_attributes import StackAllows, owners_of
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.nobody import NOBODY, as_nobody, open_directory

REQUEST = {"source": "efs:///in", "destination": "efs:///out"}
LONG_AGO_NS = 1_234_567_890_123_456_789
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")


def world_of(mount: Path, run_id: str = "run-1") -> World:
    source = PosixTree(mount, "in", run_id, "source", "source")
    return World(source=source, destination=PosixTree(mount, "out", run_id, "n"), run_id=run_id)


def facts(root: Path) -> dict[str, Any]:
    """What the file system says of every entry; listing directories and reading links moves their access times."""
    found = {}
    for path in sorted(root.rglob("*")):
        seen = path.lstat()
        mode = 0 if stat.S_ISLNK(seen.st_mode) else seen.st_mode
        atime_ns = seen.st_atime_ns if stat.S_ISREG(seen.st_mode) else 0
        found[str(path.relative_to(root))] = (mode, seen.st_uid, seen.st_gid, seen.st_mtime_ns, atime_ns)
    return found


def fill(mount: Path, owner: int) -> Path:
    root = mount / "in"
    (root / "d/e").mkdir(parents=True)
    modes = {"plain": 0o640, "setuid": 0o4755, "setgid": 0o2755, "sticky": 0o1644, "none": 0o000, "d/e/f": 0o777}
    for name, mode in modes.items():
        (root / name).write_text(name)
        os.chown(root / name, owner, owner)
        (root / name).chmod(mode)
    (root / "link").symlink_to("nowhere")
    os.lchown(root / "link", owner, owner)
    for name, mode in {"d/e": 0o3770, "d": 0o1755}.items():
        os.chown(root / name, owner, owner + 1)
        (root / name).chmod(mode)
    for number, name in enumerate(["plain", "link", "d/e/f", "d/e", "d"]):
        times = (LONG_AGO_NS + number, LONG_AGO_NS + 2 * number)
        os.utime(root / name, ns=times, follow_symlinks=False)
    return root


@is_root
def test_modes_times_and_owners_of_files_directories_and_symlinks(tmp_path: Path) -> None:
    expected = facts(fill(tmp_path, 4711))
    summary = world_of(tmp_path).run(REQUEST)
    assert summary["status"] == "SUCCEEDED"
    assert summary["notes"] == []
    assert facts(tmp_path / "out") == expected


@is_root
def test_the_same_by_way_of_a_store(tmp_path: Path) -> None:
    expected = facts(fill(tmp_path, 4711))
    there = world_of(tmp_path)
    there.destination = MemoryTree()
    assert there.run({"source": "efs:///in", "destination": "s3://a-bucket/x/"})["status"] == "SUCCEEDED"
    back = World(source=there.destination, destination=PosixTree(tmp_path, "out", "run-2", "n"), run_id="run-2")
    kept = {"source": "s3://a-bucket/x/", "destination": "efs:///out", "attributes": {"set_ids": True}}
    assert back.run(kept)["status"] == "SUCCEEDED"
    assert facts(tmp_path / "out") == expected


def test_a_file_without_its_owner_does_not_act_in_anothers_name_and_the_run_says_so_once() -> None:
    with open_directory() as mount:
        (mount / "in/d").mkdir(parents=True)
        for name in ("setuid", "d/setuid"):
            (mount / "in" / name).write_text(name)
            (mount / "in" / name).chmod(0o6755)
        (mount / "in/d").chmod(0o1777)
        (mount / "out").mkdir()
        (mount / "out").chmod(0o777)
        summary = as_nobody(lambda: world_of(mount).run(REQUEST))
        assert summary["status"] == "SUCCEEDED"
        if os.geteuid():
            return
        note = "owners cannot be kept: every file at the destination belongs to 65534:65534"
        assert [one[: len(note)] for one in summary["notes"]] == [note]
        found = (mount / "out/setuid").stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (NOBODY, 0o755)
        assert stat.S_IMODE((mount / "out/d").stat().st_mode) == 0o1777
        assert not list((mount / "out").glob(".fanout*"))


SOMEBODY = {"uid": 4711, "gid": 4712}
SET_ID = 0o6755


@is_root
@pytest.mark.parametrize(
    ("owner", "mode"),
    [
        (SOMEBODY, SET_ID),
        ({}, 0o755),
        ({"uid": 4711}, 0o755),
        ({"gid": 4712}, 0o755),
        ({"uid": os.geteuid(), "gid": os.getegid()}, SET_ID),
    ],
    ids=["both", "none", "user", "group", "its own"],
)
@pytest.mark.parametrize("size", [10, 100_000, 9 << 20])
def test_set_id_bits_of_an_object_arrive_only_with_the_owner_and_group_that_it_names(
    tmp_path: Path, size: int, owner: dict[str, int], mode: int
) -> None:
    source = MemoryTree()
    source.put("f", Kind.FILE, bytes([1]) * size, Attributes(stat.S_IFREG | SET_ID, owner.get("uid"), owner.get("gid")))
    everybody = StackAllows(owners_of("0-4294967294:0-4294967294"))
    world = World(source=source, destination=PosixTree(tmp_path, "out", "run-1", "n"), allows=everybody)
    request = {"source": "s3://a-bucket/x/", "destination": "efs:///out", "limits": {"split_bytes": 8 << 20}}
    assert world.run({**request, "attributes": {"set_ids": True}})["status"] == "SUCCEEDED"
    found = (tmp_path / "out/f").stat()
    assert stat.S_IMODE(found.st_mode) == mode
    assert (found.st_uid, found.st_gid) == (owner.get("uid", os.geteuid()), owner.get("gid", os.getegid()))


@is_root
@pytest.mark.parametrize("size", [10, 100_000])
def test_set_id_bits_stay_away_where_a_change_of_owner_is_answered_and_not_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/f").write_bytes(bytes([1]) * size)
    os.chown(tmp_path / "in/f", 4711, 4712)
    (tmp_path / "in/f").chmod(SET_ID)
    monkeypatch.setattr(os, "fchown", lambda *_: None)
    modes = []
    plain = os.fchmod

    def chmod(descriptor: int, mode: int) -> None:
        modes.append(mode)
        plain(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", chmod)
    world_of(tmp_path).run(REQUEST)
    assert stat.S_IMODE((tmp_path / "out/f").stat().st_mode) == 0o755
    assert not [mode for mode in modes if mode & 0o6000]


@is_root
@pytest.mark.parametrize("size", [10, 100_000, 9 << 20])
@pytest.mark.parametrize("owner", [0, 4711])
def test_a_file_is_at_no_moment_wider_than_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, owner: int
) -> None:
    (tmp_path / "in/d").mkdir(parents=True)
    names = {"d/none": 0o000, "private": 0o600, "group": 0o640, "d/odd": 0o604, "all": 0o666, "setuid": 0o6755}
    for name, mode in names.items():
        (tmp_path / "in" / name).write_bytes(bytes([1]) * size)
        os.chown(tmp_path / "in" / name, owner, owner)
        (tmp_path / "in" / name).chmod(mode)
    seen: list[tuple[str, os.stat_result]] = []

    def watch(name: str) -> None:
        plain = getattr(os, name)

        def call(*arguments: Any, **more: Any) -> Any:
            answer = plain(*arguments, **more)
            with suppress(FileNotFoundError):  # another thread may have removed a directory since
                for path in (tmp_path / "out").rglob("*"):
                    with suppress(FileNotFoundError):  # or renamed a file
                        found = path.lstat()
                        seen.extend([(path.name, found)] if stat.S_ISREG(found.st_mode) else [])
            return answer

        monkeypatch.setattr(os, name, call)

    for name in ("open", "pwrite", "fchown", "fchmod", "utime", "rename", "link"):
        watch(name)
    world = world_of(tmp_path)
    request = {**REQUEST, "limits": {"split_bytes": 8 << 20}}
    assert world.run(request)["status"] == "SUCCEEDED"
    assert seen
    placed = {Path(name).name: mode for name, mode in names.items()}
    for name, found in seen:
        mode = stat.S_IMODE(found.st_mode)
        assert name not in placed or (found.st_uid, mode) == (owner, placed[name])
        assert found.st_uid == owner or not mode & 0o7077
    for name, mode in names.items():
        found = (tmp_path / "out" / name).stat()
        assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (mode, owner, owner)


def directories(summary: Any) -> tuple[int, int]:
    return summary["totals"]["copied"]["entries"], summary["totals"]["unchanged"]["entries"]


def later(mount: Path, run_id: str) -> Any:
    """A run long after the changes before it, as the margin wants."""
    time.sleep(0.02)
    return world_of(mount, run_id).run(REQUEST)


@pytest.fixture
def margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten milliseconds, so that the tests need not wait for a second."""
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", 10_000_000)


def test_directories_get_their_attributes_again_where_they_differ_or_were_written_into(
    tmp_path: Path, margin: None
) -> None:
    for name in ("a/b", "c"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "f").write_text("1")
    time.sleep(0.02)
    assert directories(later(tmp_path, "run-1")) == (5, 0)
    assert directories(later(tmp_path, "run-2")) == (0, 5)
    (tmp_path / "in/c").chmod(0o700)
    assert directories(later(tmp_path, "run-3")) == (1, 4)
    assert stat.S_IMODE((tmp_path / "out/c").stat().st_mode) == 0o700
    os.utime(tmp_path / "in/a/b", ns=(LONG_AGO_NS, LONG_AGO_NS))
    assert directories(later(tmp_path, "run-4")) == (1, 4)
    (tmp_path / "in/a/b/f").write_text("in place, so that the directory does not change at the source")
    assert directories(later(tmp_path, "run-5")) == (2, 3)
    assert facts(tmp_path / "out").keys() == facts(tmp_path / "in").keys()
    for name in ("a", "a/b", "c"):
        assert (tmp_path / "out" / name).stat().st_mtime_ns == (tmp_path / "in" / name).stat().st_mtime_ns
    assert directories(later(tmp_path, "run-6")) == (0, 5)


PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


@given(st.sets(PATHS, max_size=12), st.sets(st.integers(0, 30)))
def test_each_directory_is_left_or_touched_once_and_touched_by_its_direct_child(
    names: set[str], written: set[int]
) -> None:
    parents = {path[: end + 1] for path in names for end, letter in enumerate(path) if letter == "/"}
    files = {path for path in names if f"{path}/" not in parents}
    around, left, touched = OpenDirectories(), [], []
    by_whom = set()
    for number, path in enumerate(sorted(parents | files)):
        left += around.left_before(path)
        if path in parents:
            around.enter(Entry(path, Kind.DIRECTORY))
        elif number in written:
            by_whom.add(path.rpartition("/")[0] + "/")
            directory = around.touched(path)
            touched += [directory] if directory else []
    left += around.rest()
    assert sorted(entry.path for entry in left + touched) == sorted(parents)
    assert {entry.path for entry in touched} == by_whom & parents


def test_a_directory_that_can_not_be_searched_is_not_an_empty_one() -> None:
    """Its names can be read, what they stand for not."""
    with open_directory() as mount:
        (mount / "in/readable").mkdir(parents=True)
        (mount / "in/readable/f").write_text("1")
        (mount / "in/readable").chmod(0o744)
        (mount / "out").mkdir()
        (mount / "out").chmod(0o777)
        summary = as_nobody(lambda: world_of(mount).run(REQUEST))
        listed = as_nobody(lambda: [entry.path for entry in PosixTree(mount, "in", "r", "n").list(Segment("s"))])
    if os.geteuid() == 0:
        assert (summary["status"], summary["complete_listing"]) == ("FAILED_WITH_ITEMS", False)
        assert listed == ["readable/"]
