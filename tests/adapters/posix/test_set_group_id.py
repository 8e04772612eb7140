"""Set-group-id directories at the destination: files are staged elsewhere, and get their group all the same."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Entry, Kind
from tests.support.mounts import writable

TEAM, OTHER = 1234, 1235
IS_ROOT = os.geteuid() == 0
DIRECTORY = stat.S_IFDIR | 0o750


def shared(path: Path, mode: int = 0o2775) -> Path:
    path.mkdir(exist_ok=True)
    os.chown(path, -1, TEAM)
    path.chmod(mode)
    return path


def write(tree: PosixTree, path: str, kind: str, attributes: Attributes) -> None:
    entry = Entry(path, Kind.FILE, 4)
    if kind == "symlink":
        tree.make_symlink(entry, b"text", attributes)
    elif kind == "blocks":
        token = tree.begin_blocks(entry, attributes)
        blocks = tree.open_blocks(entry, token)
        blocks.write(0, 0, b"text", 0)
        blocks.sync()
        blocks.complete([], 0, attributes)
    else:
        target = tree.create(entry, attributes)
        target.write(0, b"text")
        target.commit(0)


def owned(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


@pytest.mark.skipif(not IS_ROOT, reason="only root gives directories to any group")
@pytest.mark.parametrize("kind", ["file", "blocks", "symlink"])
def test_a_copy_gets_the_group_of_its_directory_where_nothing_else_gives_one(tmp_path: Path, kind: str) -> None:
    shared(tmp_path / "team")
    shared(tmp_path / "plain", 0o775)
    tree = writable(PosixTree(tmp_path, "", "run-1", "n"))
    for path in ("team/f", "team/new/f", "plain/f"):
        write(tree, path, kind, Attributes(uid=7))
    write(tree, "team/own", kind, Attributes(uid=7, gid=OTHER))
    groups = {path: (tmp_path / path).lstat().st_gid for path in ("team/f", "team/new/f", "plain/f", "team/own")}
    assert groups == {"team/f": TEAM, "team/new/f": TEAM, "plain/f": os.getegid(), "team/own": OTHER}
    assert owned(tmp_path / "team/own") == (7, OTHER)


@pytest.mark.skipif(not IS_ROOT, reason="only root gives directories to any group")
@pytest.mark.parametrize("kind", ["file", "blocks", "symlink"])
def test_the_group_of_the_root_is_not_that_of_every_directory(tmp_path: Path, kind: str) -> None:
    (tmp_path / "own").mkdir()
    shared(tmp_path)
    tree = writable(PosixTree(tmp_path, "", "run-1", "n"))
    for path in ("f", "own/f"):
        write(tree, path, kind, Attributes())
    assert [(tmp_path / path).lstat().st_gid for path in ("f", "own/f")] == [TEAM, os.getegid()]


def test_set_id_bits_do_not_come_with_the_group_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team").chmod(0o2775)
    write(writable(PosixTree(tmp_path, "", "run-1", "n")), "team/f", "file", Attributes(stat.S_IFREG | 0o6755))
    assert stat.S_IMODE((tmp_path / "team/f").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    ("before", "told", "after"),
    [
        (None, None, 0o2755),  # new: the bit comes from above
        (0o700, None, 0o700),
        (0o2775, None, 0o2775),
        (None, DIRECTORY, 0o750),
        (0o2775, DIRECTORY, 0o750),
    ],
)
def test_the_mode_of_a_directory_below_a_set_group_id_one(
    tmp_path: Path, before: int | None, told: int | None, after: int
) -> None:
    (tmp_path / "team").mkdir()
    (tmp_path / "team").chmod(0o2775)
    if before is not None:
        (tmp_path / "team/d").mkdir()
        (tmp_path / "team/d").chmod(before)
    tree = writable(PosixTree(tmp_path, "", "run-1", "n"))
    entry = Entry("team/d/", Kind.DIRECTORY)
    tree.make_directory(entry, Attributes(told))
    for _ in range(2):
        tree.set_attributes(replace(entry, inode=tree.place_of(entry).inode), Attributes(told))
        assert stat.S_IMODE((tmp_path / "team/d").stat().st_mode) == after
