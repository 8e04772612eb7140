"""Files that a version shares with the one before: which get a further name, and which are copied."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fanout.adapters.posix.publishing.linking import made_of
from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Entry, Kind, MadeEntry
from fanout.request.parts.allowed_attributes import Allowed, owners_of
from tests.adapters.posix.versions import tree_of
from tests.support.mounts import writable


def file_of(mount: Path, text: str, mtime_ns: int) -> Path:
    path = mount / "site/versions/v1/d/f"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return path


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
FILE = Entry("d/f", Kind.FILE, 4, 5)
V1 = "site/versions/v1/"


def record_of(path: Path) -> MadeEntry:
    """What a run noted of the file when it made it; its end, long after, is its seal."""
    return replace(made_of("d/f", -1, str(path), path.lstat()), sealed_ns=2**62)


def replaced(path: Path, target: str, mtime_ns: int) -> None:
    path.unlink()
    path.symlink_to(target)
    os.utime(path, ns=(mtime_ns, mtime_ns), follow_symlinks=False)


def rewritten(path: Path, text: str, mtime_ns: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(mtime_ns, mtime_ns))


TOUCHES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "nothing": (lambda _: None, True),
    "another name": (lambda path: os.link(path, path.with_name("other")), True),
    "read": (lambda path: path.read_text(), True),
    "a symlink of its length": (lambda path: replaced(path, "evil", 5), False),
    "opened up": (lambda path: path.chmod(0o666), False),
    "closed": (lambda path: path.chmod(0o600), False),
    "made set-uid": (lambda path: path.chmod(0o4644), False),
    "written in place": (lambda path: path.write_text("evil"), False),
    "longer, with its mtime": (lambda path: rewritten(path, "longer", 5), False),
    "another mtime": (lambda path: os.utime(path, ns=(6, 6)), False),
    "gone": (lambda path: path.unlink(), False),
}


@pytest.mark.parametrize("touch", TOUCHES)
def test_a_file_gets_a_further_name_only_while_it_is_as_it_was_made(tmp_path: Path, touch: str) -> None:
    origin = file_of(tmp_path, "text", 5)
    record = record_of(origin)
    act, expected = TOUCHES[touch]
    act(origin)
    tree = tree_of(tmp_path, "v2")
    assert tree.link_from(FILE, V1, [record]) is expected
    assert tree.link_from(FILE, V1, [record]) is expected  # another attempt
    made = tmp_path / "site/versions/v2/d/f"
    assert (made.exists() and made.samefile(origin)) is expected
    noted = list(tree.take_made())
    assert noted == ([made_of("d/f", -1, str(made), made.lstat())] * 2 if expected else [])


@pytest.mark.parametrize(
    ("noted", "sealed", "expected"),
    [(0, 0, True), (0, -1, True), (-1, 0, True), (-1, 1, True), (-1, -1, False), (1, -1, False)],
)
def test_its_ctime_is_the_one_that_was_noted_or_no_later_than_the_seal(
    tmp_path: Path, noted: int, sealed: int, expected: bool
) -> None:
    """Each in nanoseconds after the file's own."""
    found = record_of(file_of(tmp_path, "text", 5))
    record = replace(found, changed_ns=found.changed_ns + noted, sealed_ns=found.changed_ns + sealed)
    assert tree_of(tmp_path, "v2").link_from(FILE, V1, [record]) is expected


def test_a_file_of_the_same_attributes_in_its_place_is_copied(tmp_path: Path) -> None:
    origin = file_of(tmp_path, "text", 5)
    record = record_of(origin)
    origin.rename(origin.with_name("aside"))
    rewritten(origin, "evil", 5)
    assert tree_of(tmp_path, "v2").link_from(FILE, V1, [record]) is False


@pytest.mark.parametrize("owner", ["uid", "gid"])
def test_a_file_of_another_owner_is_copied(tmp_path: Path, owner: str) -> None:
    record = record_of(file_of(tmp_path, "text", 5))
    others = replace(record, **{owner: getattr(record, owner) + 1})
    assert tree_of(tmp_path, "v2").link_from(FILE, V1, [others]) is False
    assert tree_of(tmp_path, "v2").link_from(FILE, V1, [others, record]) is True  # as another attempt made it
    assert tree_of(tmp_path, "v3").link_from(FILE, V1, []) is False


@pytest.mark.parametrize("target", ["t", "u"])
def test_a_symlink_gets_a_further_name_only_with_its_target(tmp_path: Path, target: str) -> None:
    origin = file_of(tmp_path, "text", 5)
    replaced(origin, "t", 5)
    record = record_of(origin)
    replaced(origin, target, 5)
    entry = Entry("d/f", Kind.SYMLINK, 1, 5)
    assert tree_of(tmp_path, "v2").link_from(entry, V1, [record]) is (target == "t")


def test_a_file_without_room_for_a_name_is_to_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(file_of(tmp_path, "text", 5))
    tree = tree_of(tmp_path, "v2")

    def no_room(*_: object, **__: object) -> None:
        raise OSError(31, "Too many links")

    monkeypatch.setattr(os, "link", no_room)
    assert tree.link_from(FILE, V1, [record]) is False
    assert not (tmp_path / "site/versions/v2/d/f").exists()


def test_a_symlink_in_the_path_of_the_version_before_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/f").write_text("text")
    os.utime(tmp_path / "out/f", ns=(5, 5))
    (tmp_path / "site/versions/v1").mkdir(parents=True)
    (tmp_path / "site/versions/v1/d").symlink_to(tmp_path / "out")
    record = record_of(tmp_path / "out/f")
    assert tree_of(tmp_path, "v2").link_from(FILE, V1, [record]) is False


@as_root
@pytest.mark.parametrize(
    ("mode", "owner", "allowed", "expected"),
    [
        (0o4755, 1500, Allowed(), True),
        (0o4755, 1500, Allowed(left_out="stack_set_ids"), False),
        (0o4755, 1500, Allowed(left_out="set_ids", spares_root=True), False),
        (0o4755, 1500, Allowed(spares_root=True), True),
        (0o4755, 0, Allowed(spares_root=True), False),
        (0o755, 1500, Allowed(left_out="stack_set_ids"), True),
        (0o755, 1500, Allowed(owners_of("1500:1500")), True),
        (0o755, 1501, Allowed(owners_of("1500:1500")), False),
        (0o755, 0, Allowed(owners_of("1500:1500")), True),  # whom an owner that is not allowed gave way to
        (0o4755, 0, Allowed(owners_of("1500:1500")), False),
    ],
)
def test_what_the_stack_no_longer_allows_is_not_linked_on(
    tmp_path: Path, mode: int, owner: int, allowed: Allowed, expected: bool
) -> None:
    """A version that was published under other parameters, or by a request with set_ids."""
    origin = file_of(tmp_path, "text", 5)
    os.chown(origin, owner, owner)
    origin.chmod(mode)
    os.utime(origin, ns=(5, 5))
    tree = writable(
        PosixTree(tmp_path, "site/versions/v2", "v2", "attempt", stages_at="site/versions/", allowed=allowed)
    )
    assert tree.link_from(FILE, V1, [record_of(origin)]) is expected
