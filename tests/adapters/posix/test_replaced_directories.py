"""A directory that others remove, or replace by another one, while the run holds it open."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fanout.adapters.posix.paths import fresh
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.tree import PosixTree
from fanout.model.checksum import NO_BYTES
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError, Superseded
from fanout.model.segment import Segment
from tests.support.mounts import fence, writable
from tests.support.renaming import others_rename
from tests.support.syncs import names, write


@pytest.fixture
def tree(tmp_path: Path) -> PosixTree:
    return writable(PosixTree(tmp_path, "tree", "run", "attempt"))


def copy(tree: PosixTree, path: str) -> None:
    target = tree.create(Entry(path, Kind.FILE, 4), Attributes())
    try:
        target.write(0, b"data")
        target.commit(NO_BYTES)
    finally:
        target.abort()


def link(tree: PosixTree, path: str) -> None:
    tree.make_symlink(Entry(path, Kind.SYMLINK), b"target", Attributes())


def copy_beside_a_rename(tree: PosixTree, path: str) -> None:
    with others_rename(tree):
        copy(tree, path)


@pytest.fixture
def known_by_name(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As an NFS client: it finds directories by the names that it knows until it asks for the one above.

    A file that a rename did not find a directory for is gone for it, until it was told that its name is taken.
    """
    known: dict[tuple[int, str], int] = {}
    gone: set[tuple[int, str]] = set()
    really_open, really_rename, really_mkdir = os.open, os.rename, os.mkdir

    def open_known(path: str, flags: int, *mode: int, dir_fd: int | None = None) -> int:
        if dir_fd is None or not flags & os.O_DIRECTORY:
            return really_open(path, flags, *mode, dir_fd=dir_fd)
        key = os.fstat(dir_fd).st_ino, path
        if key not in known:
            known[key] = really_open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=dir_fd)
        return really_open(".", flags, dir_fd=known[key])

    def ask(descriptor: int) -> None:
        above = os.fstat(descriptor).st_ino
        for key in [key for key in known if key[0] == above]:
            os.close(known.pop(key))

    def rename(old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        key = os.fstat(src_dir_fd).st_ino, old
        if key in gone:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), old)
        try:
            really_rename(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        except FileNotFoundError:
            gone.add(key)
            raise

    def mkdir(path: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        try:
            really_mkdir(path, mode, dir_fd=dir_fd)
        except FileExistsError:
            gone.discard((os.fstat(dir_fd).st_ino if dir_fd is not None else 0, path))
            raise

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(os, "open", open_known)
    monkeypatch.setattr(fresh, "refresh_attributes", ask)
    yield
    for descriptor in known.values():
        os.close(descriptor)


@pytest.mark.usefixtures("known_by_name")
@pytest.mark.parametrize("removed", ["d/e", "d"])
@pytest.mark.parametrize("is_made_again", [True, False])
def test_what_the_client_knows_of_a_name_is_asked_for_again(
    tmp_path: Path, tree: PosixTree, removed: str, is_made_again: bool
) -> None:
    copy(tree, "d/e/first")
    shutil.rmtree(tmp_path / "tree" / removed)
    if is_made_again:
        (tmp_path / "tree" / removed).mkdir()
    copy(tree, "d/e/second")
    assert names(tmp_path / "tree/d/e") == {"second"}


@pytest.mark.parametrize("make", [copy, link])
def test_a_directory_that_the_client_remembers_at_the_place_is_asked_for(
    tmp_path: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch, make: Callable[[PosixTree, str], None]
) -> None:
    copy(tree, "d/first")
    renamed = os.rename

    def remembers(name: str, place: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if fcntl.fcntl(dst_dir_fd, fcntl.F_GETFL) & os.O_PATH:  # not asked for: names are what they were before
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        renamed(name, place, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(os, "rename", remembers)
    make(tree, "d/second")
    assert names(tmp_path / "tree/d") == {"first", "second"}


def test_only_a_directory_that_holds_others_is_opened_by_a_copy(
    tmp_path: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: dict[str, bool] = {}
    real = os.open

    def noting(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_DIRECTORY:
            opened[path] = not flags & os.O_PATH
        return real(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", noting)
    for path in ("a/", "a/b/", "c/"):
        tree.make_directory(Entry(path, Kind.DIRECTORY), Attributes())
    copy(tree, "a/b/file")
    copy(tree, "c/file")
    assert {name: opened[name] for name in "abc"} == {"a": True, "b": False, "c": False}
    assert [entry.path for entry in tree.list(Segment("all"))] == ["a/", "a/b/", "a/b/file", "c/", "c/file"]


@pytest.mark.parametrize("make", [copy, copy_beside_a_rename, link])
@pytest.mark.parametrize("removed", ["d/e", "d"])
@pytest.mark.parametrize("is_made_again", [True, False])
def test_what_comes_goes_to_the_one_that_stands_there(
    tmp_path: Path, tree: PosixTree, make: Callable[[PosixTree, str], None], removed: str, is_made_again: bool
) -> None:
    copy(tree, "d/e/first")
    shutil.rmtree(tmp_path / "tree" / removed)
    if is_made_again:
        (tmp_path / "tree" / removed).mkdir()
    make(tree, "d/e/second")
    copy(tree, "d/e/third")
    assert names(tmp_path / "tree/d/e") == {"second", "third"}
    assert tree.finish() == ()


def test_nothing_is_made_for_a_run_that_was_fenced(tmp_path: Path, tree: PosixTree) -> None:
    copy(tree, "d/first")
    shutil.rmtree(tmp_path / "tree")
    (tmp_path / "tree").mkdir()
    with pytest.raises(Superseded):
        copy(tree, "d/second")
    assert os.listdir(tmp_path / "tree") == []


@pytest.mark.parametrize("make", [copy, copy_beside_a_rename, link])
def test_a_run_that_was_fenced_a_moment_ago_makes_no_directory_for_what_it_cannot_stage(
    tmp_path: Path, tree: PosixTree, make: Callable[[PosixTree, str], None]
) -> None:
    copy(tree, "d/first")
    assert fence(PosixTree(tmp_path, "tree", "later", "attempt"), "tree/", tree)
    for path in ("d/second", "new/second"):
        with pytest.raises(Superseded):
            make(tree, path)
    assert names(tmp_path / "tree") == {"d", "d/first"}


def test_a_symlink_in_its_place_is_not_followed(tmp_path: Path, tree: PosixTree) -> None:
    copy(tree, "d/first")
    shutil.rmtree(tmp_path / "tree/d")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tree/d").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ItemError, match="symlink"):
        copy(tree, "d/second")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_deletion_below_a_stale_one_looks_again(
    tmp_path: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "tree", "d/extra")
    found = (tmp_path / "tree/d/extra").stat()
    stat, stale = os.stat, [True]

    def once_stale(path: object, **named: object) -> os.stat_result:
        if path == "extra" and stale.pop() if stale else False:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return stat(path, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", once_stale)
    entry = Entry("d/extra", Kind.FILE, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    assert tree.delete([entry]) == {}
    assert not (tmp_path / "tree/d/extra").exists()


def test_one_that_is_held_is_closed_when_it_is_let_go(tmp_path: Path) -> None:
    (tmp_path / "d/e").mkdir(parents=True)
    directories = Directories(str(tmp_path))
    held = directories.hold("d/e/")
    directories.renew("d/e/")
    with directories.hold("d/e/") as again:
        assert again != held.descriptor
        assert os.fstat(held.descriptor).st_ino == os.fstat(again).st_ino
    held.let_go()
    with pytest.raises(OSError, match="descriptor"):
        os.fstat(held.descriptor)
    directories.close()


@pytest.mark.parametrize("number", [0, errno.ENOSPC, errno.EDQUOT])
def test_a_big_file_that_three_attempts_complete_at_once_is_whole_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    first, second, third = (writable(PosixTree(tmp_path, "tree", "run", one)) for one in ("1", "2", "3"))
    entry = Entry("d/big", Kind.FILE, 4)
    token = first.begin_blocks(entry, Attributes())
    blocks = first.open_blocks(entry, token)
    blocks.write(0, 0, b"data", 0)
    blocks.sync()
    renamed, mkdir, turns = os.rename, os.mkdir, [second]

    def complete(tree: PosixTree) -> None:
        tree.open_blocks(entry, token).complete([], NO_BYTES, Attributes())

    def rename(name: str, place: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        while turns:  # another attempt is done before this one
            complete(turns.pop())
        renamed(name, place, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def make(name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if name == token and number:
            raise OSError(number, os.strerror(number))
        mkdir(name, mode, dir_fd=dir_fd)
        if name == token:
            complete(third)

    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(os, "mkdir", make)
    complete(first)
    complete(third)
    assert (tmp_path / "tree/d/big").read_bytes() == b"data"
    assert names(tmp_path / "tree/.fanout-staging-run/big") == set()


def test_no_directory_is_made_for_a_file_that_is_gone_itself(tmp_path: Path, tree: PosixTree) -> None:
    copy(tree, "d/first")
    target = tree.create(Entry("d/second", Kind.FILE, 4), Attributes())
    with tree._directories.hold("tree/d/"):
        shutil.rmtree(tmp_path / "tree/d")
        for one in (tmp_path / "tree/.fanout-staging-run").rglob("*"):
            if one.is_file():
                one.unlink()
        with pytest.raises(ItemError, match="ENOENT"):
            target.commit(NO_BYTES)
    assert not (tmp_path / "tree/d").exists()
