"""Directories that keys imply: none is wider than what it holds while a run makes it, and all are opened at its end."""

from __future__ import annotations

import json
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Attributes, Kind
from tests.finishing.private import modes, stopped
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.mounts import REQUEST, fill, reasons, world_of

FROM_KEYS = {"source": "s3://a-bucket/x/", "destination": "efs:///out"}


def keys(*directories: str, files: tuple[str, ...] = ()) -> MemoryTree:
    """A bucket with objects for directories, given as ``path:mode``, and for files."""
    tree = MemoryTree()
    for one in directories:
        path, _, mode = one.partition(":")
        tree.put(path, Kind.DIRECTORY, b"", Attributes(mode=stat.S_IFDIR | int(mode, 8) if mode else None))
    for path in files:
        tree.put(path, Kind.FILE, b"content")
    return tree


def from_keys(source: MemoryTree, mount: Path, run_id: str = "run-1") -> World:
    return World(source=source, destination=PosixTree(mount, "out", run_id, "n"), run_id=run_id)


TREE = keys(
    "private/:700",
    "plain/",
    "implied/private/:750",
    files=("private/f", "private/deep/er/f", "plain/f", "implied/f", "implied/private/f", "implied/e/f", "f"),
)
FINISHED = {
    "private": 0o700,
    "private/deep": 0o755,
    "private/deep/er": 0o755,
    "plain": 0o755,
    "implied": 0o755,
    "implied/private": 0o750,
    "implied/e": 0o755,
}


def test_directories_that_keys_imply_are_opened_at_the_end(tmp_path: Path, umask: int) -> None:
    world = from_keys(TREE, tmp_path)
    stopped(world, FROM_KEYS)
    assert not {name: mode for name, mode in modes(tmp_path / "out").items() if mode & 0o077}
    finish_tree(world.context())
    assert world.end()["status"] == "SUCCEEDED"
    assert modes(tmp_path / "out") == FINISHED


@pytest.mark.parametrize("resumes", [False, True])
def test_directories_of_keys_that_a_stopped_run_left_closed_are_opened(tmp_path: Path, resumes: bool) -> None:
    """No time tells of them: the files are unchanged, and an object shows no mtime."""
    first = from_keys(TREE, tmp_path)
    stopped(first, FROM_KEYS)
    second = from_keys(TREE, tmp_path, "run-2")
    if resumes:
        second.store, second.clock, second.nonces = first.store, first.clock, first.nonces
    summary = second.run({"resume_from": "run-1"} if resumes else FROM_KEYS)
    assert summary["status"] == "SUCCEEDED"
    assert {path: mode for path, mode in modes(tmp_path / "out").items() if path in FINISHED} == FINISHED


@pytest.mark.parametrize("runs", [2, 3])
def test_directories_keep_their_mode_where_what_they_hold_is_looked_up(
    tmp_path: Path, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing of the destination goes on while a look-up waits; what it showed before still counts."""
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))  # no time says that a file changed
    private = [f"d{number}/" for number in range(5)]
    source = keys(*(f"{path}:0700" for path in private))
    for path in private:
        entry = source.put(f"{path}f", Kind.FILE, b"content", Attributes(mtime_ns=7))
        listed = replace(entry, mtime_ns=entry.changed_ns)  # a listing of a bucket shows no mtime of a file
        source._entries[entry.path] = replace(source.contents()[entry.path], entry=listed)
    for number in range(runs):  # each without an index, so that each pair is looked up
        assert from_keys(source, tmp_path, f"run-{number}").run(FROM_KEYS)["status"] == "SUCCEEDED"
        assert modes(tmp_path / "out") == {path[:-1]: 0o700 for path in private}


def test_directories_that_were_there_keep_their_mode(tmp_path: Path) -> None:
    for name, mode in {"out/implied/e": 0o700, "out/private": 0o755}.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name).chmod(mode)
    (tmp_path / "out/implied").chmod(0o2710)
    assert from_keys(TREE, tmp_path).run(FROM_KEYS)["status"] == "SUCCEEDED"
    assert modes(tmp_path / "out") == {**FINISHED, "implied": 0o2710, "implied/e": 0o700, "private": 0o700}


@pytest.mark.parametrize("on_conflict", ["fail", "escape"])
def test_a_directory_that_keys_imply_and_a_file_stands_in_the_way_of_is_no_failure_of_its_own(
    tmp_path: Path, on_conflict: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/d").write_text("a file")
    world = from_keys(keys(files=("d/f", "e//f", "../f", "g/f")), tmp_path)
    summary = world.run({**FROM_KEYS, "on_conflict": on_conflict})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(world)["d/f"] == "destination has another kind of entry"
    assert "d/" not in reasons(world)
    assert set(modes(tmp_path / "out").values()) == {0o755}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


PATHS = st.lists(st.sampled_from(["a", "b", "a-", "."]), min_size=1, max_size=4).map("/".join)


@given(
    st.dictionaries(PATHS, st.sampled_from([0o700, 0o750, 0o755, 0o1700, None]), max_size=6),
    st.sets(PATHS, max_size=10),
    st.integers(1, 4),
    st.sampled_from(["fail", "escape", "skip"]),
    st.booleans(),
    st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
def test_wherever_a_listing_is_cut_each_directory_ends_with_its_mode(
    directories: dict[str, int | None], files: set[str], budget: int, on_conflict: str, stops: bool, named: bool
) -> None:
    source = MemoryTree()
    for path, mode in directories.items():
        source.put(f"{path}/", Kind.DIRECTORY, b"", Attributes(mode=mode and stat.S_IFDIR | mode))
    for path in files - set(directories):
        source.put(path, Kind.FILE, b"content")
    request: Any = {**FROM_KEYS, "on_conflict": on_conflict}
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "SEGMENT_ENTRIES", budget)
        mount = Path(name)
        world = from_keys(source, mount)
        if named:
            rows = "".join(json.dumps(path) + "\n" for path in source.contents())
            world.objects.put("lists", "a.jsonl", rows.encode())
            request["manifest"] = "s3://lists/a.jsonl"
        if stops:
            stopped(world, request)
            again = from_keys(source, mount, "run-2")
            again.objects = world.objects
            world = again
        stopped(world, request)
        world.finish_all()
        for path, mode in modes(mount / "out").items():
            if on_conflict == "escape" and "^" in path:
                continue
            wanted = directories.get(path, 0o755)
            assert path.startswith(".fanout-staging") or mode == (0o755 if wanted is None else wanted), path


@pytest.mark.parametrize("from_mount", [False, True])
def test_directories_that_a_manifest_leaves_out_are_no_wider_than_at_the_source(
    tmp_path: Path, from_mount: bool
) -> None:
    expected = {"open": 0o755, "open/group": 0o700, "private": 0o700, "private/open": 0o755, "named": 0o750}
    rows = ["open/group/f", "private/open/f", "named/", "named/f"]
    if from_mount:
        source = fill(tmp_path, "open/group/f", "private/open/f", "named/f")
        for name, mode in {"open": 0o777, "open/group": 0o750, "private": 0o700, "named": 0o750}.items():
            (source / name).chmod(mode)
        world = world_of(tmp_path)
        request = REQUEST
    else:
        objects = ("open/:777", "open/group/:750", "private/:700", "private/open/:755", "named/:750")
        world = from_keys(keys(*objects, files=("open/group/f", "private/open/f", "named/f")), tmp_path)
        request = FROM_KEYS
    world.objects.put("lists", "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    assert world.run({**request, "manifest": "s3://lists/a.jsonl"})["status"] == "SUCCEEDED"
    assert modes(tmp_path / "out") == expected
