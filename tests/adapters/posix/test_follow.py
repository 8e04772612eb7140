"""Followed symlinks: never out of the root, never for ever, by the kernel's resolution and by our own."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanout.adapters.posix.paths import beneath
from fanout.adapters.posix.paths.beneath import has_openat2, open_beneath, walk
from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Segment, rest_of


@pytest.fixture(params=["openat2", "component by component"])
def resolver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "openat2" and not has_openat2():
        pytest.skip("this kernel has no openat2, or does not let this process use it")
    monkeypatch.setattr(beneath, "has_openat2", lambda: request.param == "openat2")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree of good and bad symlinks beside a directory that must not be touched."""
    outside = tmp_path / "mount/outside"
    outside.mkdir(parents=True)
    (outside / "secret").write_text("secret")
    root = tmp_path / "mount/tree"
    (root / "d/e").mkdir(parents=True)
    (root / "d/e/f").write_text("content")
    for name, target in {
        "file": "d/e/f",
        "dir": "d/e",
        "chain": "file",
        "d/up": "..",
        "d/e/self": "self",
        "gone": "d/nothing",
        "through-file": "d/e/f/x",
        "out": "../outside/secret",
        "out-dir": "../outside",
        "out-and-in": "../tree/d",
        "absolute": str(root / "d"),
    }.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "pipe")
    (root / "to-pipe").symlink_to("pipe")
    return root


def followed(root: Path) -> PosixTree:
    return PosixTree(root.parent, root.name, "run", "attempt", "source", follow=True)


def read(tree: PosixTree, entry: Entry) -> bytes:
    source = tree.open(entry)
    try:
        return source.read(0, entry.size)
    finally:
        source.close()


def test_each_symlink_becomes_what_it_leads_to_or_has_a_reason(root: Path, resolver: None) -> None:
    listed = {entry.path: entry for entry in followed(root).list(Segment("s"))}
    kinds = {path: entry.kind for path, entry in listed.items() if entry.problem is None}
    assert kinds == {
        "chain": Kind.FILE,
        "d/": Kind.DIRECTORY,
        "d/e/": Kind.DIRECTORY,
        "d/e/f": Kind.FILE,
        "dir/": Kind.DIRECTORY,
        "dir/f": Kind.FILE,
        "file": Kind.FILE,
        "pipe": Kind.SPECIAL,
        "to-pipe": Kind.SPECIAL,
    }
    assert {path: entry.problem for path, entry in listed.items() if entry.problem} == {
        "absolute": Reason.LINK_OUTSIDE,
        "d/e/self": Reason.LINK_LOOP,
        "d/up": Reason.LINK_LOOP,
        "dir/self": Reason.LINK_LOOP,
        "gone": Reason.LINK_DANGLING,
        "out": Reason.LINK_OUTSIDE,
        "out-and-in": Reason.LINK_OUTSIDE,
        "out-dir": Reason.LINK_OUTSIDE,
        "through-file": Reason.LINK_DANGLING,
    }
    assert [*listed] == sorted(listed, key=os.fsencode)
    for path in ("chain", "file", "dir/f"):
        assert read(followed(root), listed[path]) == b"content"


def test_a_target_outside_is_not_opened_even_if_the_symlink_was_turned_after_the_listing(
    root: Path, resolver: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = followed(root)
    listed = {entry.path: entry for entry in tree.list(Segment("s"))}
    for name, target in (("file", "../outside/secret"), ("dir", "../outside")):
        (root / name).unlink()
        (root / name).symlink_to(target)
    os.rename(root / "d/e/f", root / "d/e/g")
    opened: list[str] = []
    plain_open = os.open

    def note(path: str, *rest: int, **more: int) -> int:
        opened.append(path)
        return plain_open(path, *rest, **more)

    monkeypatch.setattr(os, "open", note)
    for path, reason in (("file", Reason.LINK_OUTSIDE), ("chain", Reason.LINK_OUTSIDE)):
        with pytest.raises(ItemError) as caught:
            followed(root).open(listed[path])
        assert caught.value.reason is reason
    with pytest.raises(ItemError):
        followed(root).open(listed["dir/f"])
    assert "secret" not in opened
    assert "outside" not in opened


def test_a_loop_that_passes_a_directory_twice_ends(tmp_path: Path, resolver: None) -> None:
    (tmp_path / "t/a").mkdir(parents=True)
    (tmp_path / "l").symlink_to("t/a")
    (tmp_path / "t/a/m").symlink_to("..")
    tree = PosixTree(tmp_path, "", "run", "attempt", "source", follow=True)
    listed = {entry.path: entry.problem for entry in tree.list(Segment("s"))}
    assert listed == {
        "l/": None,
        "l/m/": None,
        "l/m/a": Reason.LINK_LOOP,
        "t/": None,
        "t/a/": None,
        "t/a/m": Reason.LINK_LOOP,
    }


def test_a_symlink_turned_to_an_older_file_counts_as_changed(root: Path, resolver: None) -> None:
    (root / "d/alias").symlink_to("e")
    (root / "way").symlink_to("d/alias")

    def changed() -> dict[str, int]:
        return {entry.path: entry.changed_ns for entry in followed(root).list(Segment("s"))}

    before = changed()
    time.sleep(0.05)  # a file system's clock ticks every 4 to 10 ms
    (root / "d/alias").unlink()
    (root / "d/alias").symlink_to("e")
    after = changed()
    turned = os.lstat(root / "d/alias").st_ctime_ns
    assert after["way/f"] == after["way/"] == after["d/alias/f"] == turned > before["way/f"]
    assert after["d/e/f"] == before["d/e/f"]
    cut = {entry.path: entry.changed_ns for entry in followed(root).list(Segment("s", prefix="way/"))}
    assert cut["way/f"] == turned


def test_a_file_behind_a_younger_symlink_is_pinned_to_what_was_listed(root: Path, resolver: None) -> None:
    file = root / "d/e/f"
    time.sleep(0.05)  # a file system's clock ticks every 4 to 10 ms
    (root / "young").symlink_to("d/e/f")
    listed = {entry.path: entry for entry in followed(root).list(Segment("s"))}
    assert listed["young"].changed_ns > file.stat().st_ctime_ns
    assert read(followed(root), listed["young"]) == b"content"
    before = file.stat()
    time.sleep(0.05)
    with file.open("r+") as rewritten:
        rewritten.write("CONTENT")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for path in ("young", "file", "d/e/f"):
        with pytest.raises(ItemError) as caught:
            followed(root).open(listed[path])
        assert caught.value.reason is Reason.SOURCE_CHANGED


def test_a_listing_cut_anywhere_finds_the_same_loops(root: Path, resolver: None) -> None:
    whole = list(followed(root).list(Segment("s")))
    for cut, entry in enumerate(whole, start=1):
        rest = list(followed(root).list(rest_of(Segment("s"), entry.path, ())))
        assert whole[:cut] + rest == whole, entry.path


@pytest.mark.parametrize("prefix", ["out-dir/", "out-dir/below/", "absolute/", "d/e/self/", "gone/", "through-file/"])
def test_of_a_segment_below_a_symlink_that_leads_nowhere_nothing_is_listed(
    root: Path, resolver: None, prefix: str
) -> None:
    """The other end may hold keys there; the symlink is an entry of the segment before."""
    assert list(followed(root).list(Segment("s", prefix=prefix))) == []


def test_only_names_that_no_symlink_leads_to_show_which_file_they_are(root: Path, resolver: None) -> None:
    os.link(root / "d/e/f", root / "d/g")
    listed = {entry.path: entry.inode for entry in followed(root).list(Segment("s")) if entry.kind is Kind.FILE}
    inode = str((root / "d/g").stat().st_ino)
    assert listed == {"chain": "", "d/e/f": inode, "d/g": inode, "dir/f": "", "file": ""}
    cut = {entry.path: entry.inode for entry in followed(root).list(Segment("s", prefix="dir/"))}
    assert cut["dir/f"] == ""


NAMES = st.sampled_from(["a", "b", "l", "m", "..", ".", "", "x"])
PATHS = st.lists(NAMES, min_size=1, max_size=6).map("/".join)


@settings(max_examples=200, deadline=None)
@given(PATHS.filter(lambda path: path != "" and not path.startswith("/")), PATHS, PATHS)
def test_both_resolutions_agree(path: str, first: str, second: str) -> None:
    if not has_openat2():
        pytest.skip("this kernel has no openat2, or does not let this process use it")
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        (base / "root/a/b").mkdir(parents=True)
        (base / "root/a/x").write_text("x")
        os.symlink(first or ".", base / "root/l")
        os.symlink(second or ".", base / "root/a/m")
        root = os.open(base / "root", os.O_PATH)
        try:
            ours = _identity(lambda: walk(root, path, os.O_PATH)[0])
            assert _identity(lambda: open_beneath(root, path, os.O_PATH)) == ours
        finally:
            os.close(root)


def _identity(opened: Callable[[], int]) -> object:
    try:
        descriptor = opened()
    except OSError as error:
        return "refused" if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV) else error.errno
    try:
        return os.fstat(descriptor).st_ino
    finally:
        os.close(descriptor)
