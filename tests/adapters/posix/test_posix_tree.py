"""The file system adapter: confined to its root, atomic, and honest about what it finds."""

from __future__ import annotations

import errno
import gc
import os
from pathlib import Path

import pytest

from fanout.adapters.posix.paths import directories as directories_module
from fanout.adapters.posix.paths import fresh
from fanout.adapters.posix.paths.fresh import refresh_attributes
from fanout.adapters.posix.source import FILE_FLAGS, FileSource
from fanout.adapters.posix.tree import PosixTree
from fanout.model.checksum import NO_BYTES
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from tests.support.mounts import writable

PLAIN = Attributes()


def write(tree: PosixTree, path: str, data: bytes = b"data", attributes: Attributes = PLAIN, inode: str = "") -> None:
    target = tree.create(Entry(path, Kind.FILE, len(data), inode=inode), attributes)
    target.write(0, data)
    target.commit(NO_BYTES)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    mount = tmp_path / "mount"
    mount.mkdir()
    return mount


@pytest.fixture
def tree(root: Path) -> PosixTree:
    return writable(PosixTree(root, "tree", "run", "attempt"))


def staged(root: Path) -> list[Path]:
    """What stands in the directories of attempts, processes and threads."""
    return [path for path in root.rglob(".fanout-staging-*/**/*") if not path.is_dir()]


def test_a_symlink_in_the_destinations_path_is_not_followed(root: Path, tree: PosixTree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "tree/way").symlink_to(outside)
    with pytest.raises(ItemError) as caught:
        write(tree, "way/file")
    assert caught.value.reason is Reason.LINK_IN_PATH
    assert list(outside.iterdir()) == []


def test_a_symlink_swapped_in_during_the_copy_is_not_followed(root: Path, tree: PosixTree, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = tree.create(Entry("way/file", Kind.FILE, 4), PLAIN)
    target.write(0, b"data")
    (root / "tree/way").symlink_to(outside)
    with pytest.raises(ItemError):
        target.commit(NO_BYTES)
    target.abort()
    assert list(outside.iterdir()) == []
    assert staged(root) == []


def test_a_file_that_is_a_symlink_at_the_destination_is_replaced_not_written_through(
    root: Path, tree: PosixTree, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    (root / "tree/file").symlink_to(victim)
    write(tree, "file")
    assert victim.read_text() == "untouched"
    assert (root / "tree/file").read_bytes() == b"data"
    assert not (root / "tree/file").is_symlink()


def test_a_source_below_a_symlink_is_not_read(root: Path, tree: PosixTree, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "tree/way").symlink_to(tmp_path)
    with pytest.raises(ItemError):
        tree.open(Entry("way/secret", Kind.FILE, 6))


def test_the_old_file_stays_until_the_new_one_is_whole(root: Path, tree: PosixTree) -> None:
    write(tree, "file", b"old")
    target = tree.create(Entry("file", Kind.FILE, 8), PLAIN)
    target.write(0, b"half")
    assert (root / "tree/file").read_bytes() == b"old"
    target.abort()
    assert (root / "tree/file").read_bytes() == b"old"
    assert staged(root) == []


def test_what_a_crash_left_staged_goes_with_the_end_of_the_run(root: Path, tree: PosixTree) -> None:
    crashed = os.fork()
    if crashed == 0:
        PosixTree(root, "tree", "run", "lost-attempt").create(Entry("file", Kind.FILE, 8), PLAIN).write(0, b"half")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(crashed, 0)[1]) == 0
    assert staged(root)
    write(tree, "other")
    tree.finish()
    assert sorted(path.name for path in (root / "tree").iterdir()) == ["other"]
    assert [entry.path for entry in tree.list(Segment("s"))] == ["other"]


def test_the_longest_name_is_no_trouble(root: Path, tree: PosixTree) -> None:
    name = "n" * 255
    write(tree, f"{name}/{name}")
    assert (root / "tree" / name / name).read_bytes() == b"data"


def test_attributes_are_kept(root: Path, tree: PosixTree) -> None:
    write(tree, "file", attributes=Attributes(mode=0o100640, mtime_ns=123_456_789_000_000_001))
    found = (root / "tree/file").stat()
    assert (found.st_mode & 0o7777, found.st_mtime_ns) == (0o640, 123_456_789_000_000_001)


def test_a_file_that_changes_is_noticed_before_and_after_it_is_read(root: Path, tree: PosixTree) -> None:
    write(tree, "file", b"0123456789")
    [entry] = list(tree.list(Segment("s")))
    source = tree.open(entry)
    assert source.read(0, 10) == b"0123456789"
    (root / "tree/file").write_bytes(b"9876543210")
    os.utime(root / "tree/file", ns=(1, 1))
    with pytest.raises(ItemError) as after:
        source.confirm(None)
    with pytest.raises(ItemError) as before:
        tree.open(entry)
    source.close()
    assert after.value.reason is before.value.reason is Reason.SOURCE_CHANGED


@pytest.mark.parametrize(("seconds", "asked"), [(0.4, 0), (0.6, 1)])
def test_the_server_is_asked_again_where_the_clients_cache_may_be_old(
    root: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, asked: int
) -> None:
    (root / "file").write_text("content")
    [entry] = list(PosixTree(root, "", "run", "attempt").list(Segment("s")))
    times = iter([100.0, 100.0 + seconds])
    source = FileSource(os.open(root / "file", FILE_FLAGS), entry, lambda: next(times))
    calls = []

    def refresh(descriptor: int) -> None:
        calls.append(descriptor)
        refresh_attributes(descriptor)

    monkeypatch.setattr(fresh, "refresh_attributes", refresh)
    source.confirm(None)
    source.close()
    assert len(calls) == asked


@pytest.mark.parametrize(
    ("is_removed", "reason"), [(False, Reason.SOURCE_CHANGED), (True, Reason.SOURCE_VANISHED)], ids=["replaced", "gone"]
)
def test_an_inode_that_the_server_lost_has_vanished_only_where_its_name_has(
    root: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch, is_removed: bool, reason: Reason
) -> None:
    write(tree, "file", b"0123456789")
    [entry] = list(tree.list(Segment("s")))
    source = tree.open(entry)
    if is_removed:
        (root / "tree/file").unlink()

    def stale(*_: object) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle")

    monkeypatch.setattr(os, "pread", stale)
    with pytest.raises(ItemError) as caught:
        source.read(0, 10)
    source.close()
    assert caught.value.reason is reason


def test_attributes_of_what_is_not_open_can_not_be_asked_for() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        refresh_attributes(-5)


def test_a_file_that_was_cut_short_is_a_changed_source(root: Path, tree: PosixTree) -> None:
    write(tree, "file", b"0123456789")
    [entry] = list(tree.list(Segment("s")))
    source = tree.open(entry)
    os.truncate(root / "tree/file", 3)
    with pytest.raises(ItemError) as caught:
        source.read(0, 10)
    source.close()
    assert caught.value.reason is Reason.SOURCE_CHANGED


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, Reason.NO_SPACE),
        (errno.EDQUOT, Reason.NO_SPACE),
        (errno.EIO, Reason.TRANSIENT),
        (errno.ESTALE, Reason.TRANSIENT),
        (errno.EACCES, Reason.DESTINATION_DENIED),
    ],
)
def test_an_error_of_the_file_system_leaves_nothing_behind(
    root: Path, tree: PosixTree, monkeypatch: pytest.MonkeyPatch, number: int, reason: Reason
) -> None:
    target = tree.create(Entry("file", Kind.FILE, 4), PLAIN)

    def fail(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch, pytest.raises(ItemError) as caught:
        patch.setattr(os, "pwrite", fail)
        target.write(0, b"data")
    target.abort()
    assert caught.value.reason is reason
    assert staged(root) == []


def test_a_directory_in_the_way_of_a_file_is_said_to_be(root: Path, tree: PosixTree) -> None:
    (root / "tree/file/below").mkdir(parents=True)
    with pytest.raises(ItemError) as caught:
        write(tree, "file")
    assert caught.value.reason is Reason.DESTINATION_KIND


def test_many_directories_keep_few_descriptors_open(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories_module, "KEPT_DIRECTORIES", 8)
    tree = writable(PosixTree(root, "", "run", "attempt"))
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        write(tree, f"d{number}/e/file")
    assert len(os.listdir("/proc/self/fd")) - before < 20
    assert len(list(tree.list(Segment("s")))) == 150


def test_a_missing_source_is_named(root: Path) -> None:
    with pytest.raises(InvalidRequest, match="source: /nowhere/ is not a directory"):
        PosixTree(root, "nowhere", "run", "attempt", "source").check(writing=False)


def test_a_destination_without_permission_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(AccessDenied, match=r"^writing in /tree/ at the destination is not permitted; .* identity"):
        PosixTree(root, "tree", "run", "attempt").check(writing=True)


def test_kinds_and_order_of_a_listing(root: Path, tree: PosixTree) -> None:
    base = root / "tree"
    (base / "a").mkdir(parents=True)
    (base / "a/x").write_text("x")
    (base / "a-b").write_text("y")
    (base / "link").symlink_to("a/x")
    os.mkfifo(base / "pipe")
    (base / os.fsdecode(b"\xff")).write_text("odd")
    found = [(entry.path, entry.kind) for entry in tree.list(Segment("s"))]
    assert found == [
        ("a-b", Kind.FILE),
        ("a/", Kind.DIRECTORY),
        ("a/x", Kind.FILE),
        ("link", Kind.SYMLINK),
        ("pipe", Kind.SPECIAL),
        ("\udcff", Kind.FILE),
    ]


def test_a_name_that_is_linked_already_needs_no_further_one(root: Path, tree: PosixTree) -> None:
    """A rename of one name onto another of the same file does nothing, and would leave the staged one."""
    write(tree, "first", inode="1")
    for _ in range(2):
        tree.link(Entry("d/further", Kind.FILE, 4), "first")
    assert (root / "tree/first").stat().st_nlink == 2
    assert staged(root) == []


def test_a_file_with_another_mtime_is_not_the_copy(root: Path, tree: PosixTree) -> None:
    write(tree, "first", inode="1")
    os.utime(root / "tree/first", ns=(1, 1))
    with pytest.raises(ItemError, match="no longer holds the copy"):
        tree.link(Entry("further", Kind.FILE, 4, mtime_ns=2), "first")
    tree.link(Entry("further", Kind.FILE, 4, mtime_ns=1), "first")
    with pytest.raises(ItemError, match="no longer holds the copy"):
        tree.link(Entry("further", Kind.FILE, 4, mtime_ns=2), "first")
    tree.finish()
    assert staged(root) == []


def test_a_segment_below_what_is_a_symlink_by_now_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "elsewhere/e").mkdir(parents=True)
    (tmp_path / "elsewhere/e/secret").write_text("x")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/d").symlink_to("../elsewhere")
    tree = PosixTree(tmp_path, "tree", "r1", "n1", "source")
    assert list(tree.list(Segment("s", prefix="d/e/"))) == []
    assert [entry.path for entry in tree.list(Segment("s"))] == ["d"]
    tree.close()


def test_a_tree_that_nobody_closed_keeps_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "tree/d").mkdir(parents=True)
    gc.collect()
    before = os.listdir("/proc/self/fd")
    tree = PosixTree(tmp_path, "tree", "run-1", "n1", "source")
    assert tree.find("d/none") is None
    assert len(os.listdir("/proc/self/fd")) > len(before)
    del tree
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == len(before)
