"""What a run replaces or deletes is kept before it goes: at every operation the process may end."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fanout.adapters.posix.fencing import fencing_token
from fanout.adapters.posix.tree import PosixTree
from fanout.model.checksum import crc64nvme
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError, Superseded
from fanout.model.outcome import Reason
from fanout.model.shard import Receipt
from fanout.request.options import Overwrite
from tests.support.mounts import writable

NEW = Attributes(mode=stat.S_IFREG | 0o640, mtime_ns=1_700_000_000_123_456_789)
OLD_NS = 1_600_000_000_000_000_001
OPERATIONS = ("link", "rename", "unlink", "rmdir", "mkdir", "fchmod", "fchown", "symlink")


class Killed(BaseException):
    """The end of the process: no code of the product catches it."""


def tree_of(mount: Path, nonce: str = "n", overwrite: Overwrite = Overwrite.ALWAYS) -> PosixTree:
    return writable(PosixTree(mount, "out", "run-1", nonce, overwrite=overwrite, backup_to="kept/"))


def old(mount: Path, path: str = "d/f", text: str = "theirs") -> Path:
    file = mount / "out" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o604)
    os.utime(file, ns=(OLD_NS, OLD_NS))
    return file


def write(tree: PosixTree, path: str = "d/f", body: bytes = b"ours", inode: str = "") -> None:
    target = tree.create(Entry(path, Kind.FILE, len(body), inode=inode), NEW)
    try:
        target.write(0, body)
        target.commit(crc64nvme(body))
    finally:
        target.abort()


def write_blocks(tree: PosixTree) -> None:
    entry, body = Entry("d/f", Kind.FILE, 4), b"ours"
    blocks = tree.open_blocks(entry, tree.begin_blocks(entry, NEW))
    receipt = Receipt(0, crc64nvme(body), blocks.write(0, 0, body, crc64nvme(body)))
    blocks.sync()
    blocks.complete([receipt], crc64nvme(body), NEW)


def write_link(tree: PosixTree) -> None:
    write(tree, "first", inode="1")
    tree.link(Entry("d/f", Kind.FILE, 4, NEW.mtime_ns or 0), "first")


def make_symlink(tree: PosixTree) -> None:
    tree.make_symlink(Entry("d/f", Kind.SYMLINK, 4), b"ours", NEW)


def delete(tree: PosixTree) -> None:
    listed = Entry("d/f", Kind.FILE, 6, OLD_NS)
    problems = tree.delete([listed])
    assert not problems, problems


WAYS: dict[str, Callable[[PosixTree], None]] = {
    "file": write,
    "big file": write_blocks,
    "further name": write_link,
    "symlink": make_symlink,
    "deletion": delete,
}


def kept(mount: Path) -> Path:
    return mount / "kept" / "run-1" / "d" / "f"


def require_kept(mount: Path, inode: int) -> None:
    found = kept(mount).lstat()
    assert (found.st_ino, found.st_mtime_ns, stat.S_IMODE(found.st_mode)) == (inode, OLD_NS, 0o604)
    assert kept(mount).read_text() == "theirs"


@pytest.mark.parametrize("way", WAYS)
def test_what_goes_is_kept_as_it_was_under_the_runs_id(tmp_path: Path, way: str) -> None:
    inode = old(tmp_path).stat().st_ino
    WAYS[way](tree_of(tmp_path))
    require_kept(tmp_path, inode)
    assert (tmp_path / "out/d/f").is_symlink() == (way == "symlink")
    assert os.path.lexists(tmp_path / "out/d/f") == (way != "deletion")


@pytest.mark.parametrize("way", WAYS)
def test_whenever_the_process_ends_nothing_is_missing_and_a_second_attempt_keeps_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Dies before and after every operation of the first attempt in turn, until one attempt needs no more."""
    for number in range(100):
        mount = tmp_path / str(number)
        mount.mkdir()
        inode = old(mount).stat().st_ino
        first = tree_of(mount, "first")
        with monkeypatch.context() as patch:
            died = _dies_at(number, patch)
            with suppress(Killed):
                WAYS[way](first)
            ended = not next(died)
        there = os.path.lexists(mount / "out/d/f")
        if not there or (mount / "out/d/f").is_symlink() or (mount / "out/d/f").read_text() != "theirs":
            require_kept(mount, inode)
        assert there or way == "deletion"
        if ended:
            assert number > 4
            return
        WAYS[way](tree_of(mount, "second"))
        require_kept(mount, inode)
    raise AssertionError("an attempt never ends")


def _dies_at(moment: int, patch: pytest.MonkeyPatch) -> Iterator[bool]:
    """Whether it died, once the attempt is over; an even moment is before an operation, an odd one after it."""
    moments = iter(range(10_000))
    died: list[int] = []

    def patched(name: str) -> None:
        real = getattr(os, name)

        def operation(*args: object, **kwargs: object) -> object:
            if died:
                raise Killed
            if next(moments) == moment:
                died.append(moment)
                raise Killed
            result = real(*args, **kwargs)
            if next(moments) == moment:
                died.append(moment)
                raise Killed
            return result

        patch.setattr(os, name, operation)

    for name in OPERATIONS:
        patched(name)

    def answer() -> Iterator[bool]:
        yield bool(died)

    return answer()


def test_what_is_new_is_not_kept(tmp_path: Path) -> None:
    write(tree_of(tmp_path))
    assert not (tmp_path / "kept" / "run-1").exists()


def test_a_file_that_looks_like_the_new_one_is_kept_all_the_same(tmp_path: Path) -> None:
    """The damage that `compare: checksum` repairs shows in neither size nor mtime."""
    file = old(tmp_path, text="oxrs")
    os.utime(file, ns=(NEW.mtime_ns or 0, NEW.mtime_ns or 0))
    write(tree_of(tmp_path))
    assert kept(tmp_path).read_text() == "oxrs"


def test_what_others_write_after_the_first_was_kept_is_not_replaced(tmp_path: Path) -> None:
    inode = old(tmp_path).stat().st_ino
    write(tree_of(tmp_path, "first"))
    (tmp_path / "out/d/f").unlink()
    (tmp_path / "out/d/f").write_text("others'")
    with pytest.raises(ItemError) as caught:
        write(tree_of(tmp_path, "second"))
    assert caught.value.reason is Reason.DESTINATION_CHANGED
    assert (tmp_path / "out/d/f").read_text() == "others'"
    require_kept(tmp_path, inode)


def test_directories_of_the_backup_have_mode_and_owner_of_the_trees(tmp_path: Path) -> None:
    old(tmp_path, "d/e/f")
    for path, mode in (("out", 0o751), ("out/d", 0o700), ("out/d/e", 0o2510)):
        (tmp_path / path).chmod(mode)
    if os.geteuid() == 0:
        os.chown(tmp_path / "out/d/e", 4321, 1234)
        (tmp_path / "out/d/e").chmod(0o2510)
    tree = tree_of(tmp_path)
    write(tree, "d/e/f")
    run = tmp_path / "kept/run-1"
    assert stat.S_IMODE(run.stat().st_mode) == 0o700, "closed until the run ends"
    (tmp_path / "out/d").chmod(0o755)  # as the finished run leaves it
    old(tmp_path, "d/g")
    write(tree_of(tmp_path, "later"), "d/g")
    tree.finish()
    assert [one.name for one in run.iterdir()] == ["d"]
    found = [stat.S_IMODE((run / path).stat().st_mode) for path in (".", "d", "d/e")]
    assert found == [0o751, 0o700, 0o2710]
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700
    assert (run / "d/e").stat().st_uid == (tmp_path / "out/d/e").stat().st_uid


def test_a_directory_that_a_sync_removes_is_kept_too(tmp_path: Path) -> None:
    tree = tree_of(tmp_path)
    (tmp_path / "out/d/empty").mkdir(parents=True)
    for path in ("d/empty/", "d/"):
        tree.remove_directory(Entry(path, Kind.DIRECTORY))
        tree.remove_directory(Entry(path, Kind.DIRECTORY))
    assert (tmp_path / "kept/run-1/d/empty").is_dir()
    assert not (tmp_path / "out/d").exists()


def test_with_never_nothing_is_replaced_and_so_nothing_is_kept(tmp_path: Path) -> None:
    old(tmp_path)
    with pytest.raises(ItemError) as caught:
        write(tree_of(tmp_path, overwrite=Overwrite.NEVER))
    assert caught.value.reason is Reason.KEPT
    assert not (tmp_path / "kept/run-1").exists()


def test_a_place_where_nothing_can_be_kept_is_refused_before_anything_is_listed(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with pytest.raises(InvalidRequest, match=r"backup_to: /kept/ is not a directory"):
        tree_of(tmp_path)
    (tmp_path / "kept").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "kept").symlink_to("elsewhere")
    with pytest.raises(InvalidRequest, match=r"backup_to: /kept/: a directory of the path is a symlink"):
        tree_of(tmp_path)


def test_another_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").mkdir()
    real, other = os.fstat, (tmp_path / "kept").stat().st_ino

    def fstat(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        return os.stat_result([*found[:2], found.st_dev + 1, *found[3:]]) if found.st_ino == other else found

    monkeypatch.setattr(os, "fstat", fstat)
    with pytest.raises(InvalidRequest, match="another file system than /out/"):
        tree_of(tmp_path)


def test_a_backup_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_args, **_kwargs: False)
    with pytest.raises(AccessDenied, match="in /kept/ at backup_to"):
        tree_of(tmp_path)


def test_files_are_not_replaced_when_their_backup_was_removed(tmp_path: Path) -> None:
    old(tmp_path, "d/f")
    old(tmp_path, "d/g")
    tree = tree_of(tmp_path)
    write(tree, "d/f")
    kept(tmp_path).unlink()
    kept(tmp_path).parent.rmdir()
    with pytest.raises(ItemError):
        write(tree, "d/g")
    assert (tmp_path / "out/d/g").read_text() == "theirs"


@pytest.mark.parametrize("way", ["file", "directory"])
def test_a_run_that_was_fenced_while_it_kept_an_extra_does_not_delete_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """The function was frozen in that call, so its look of before counts no more."""
    file, tree = old(tmp_path), tree_of(tmp_path)
    (tmp_path / "out/empty").mkdir()
    monkeypatch.setattr(fencing_token, "LOOK_SECONDS", 0.0)
    operation = "link" if way == "file" else "mkdir"
    done = getattr(os, operation)

    def frozen(*arguments: object, **options: object) -> None:
        done(*arguments, **options)
        if arguments[0] in ("f", "empty"):
            shutil.rmtree(tmp_path / "out/.fanout-staging-run-1")

    monkeypatch.setattr(os, operation, frozen)
    with pytest.raises(Superseded):
        if way == "file":
            tree.delete([Entry("d/f", Kind.FILE, 6, OLD_NS)])
        else:
            tree.remove_directory(Entry("empty/", Kind.DIRECTORY))
    assert file.read_text() == "theirs"
    assert (tmp_path / "out/empty").is_dir()
