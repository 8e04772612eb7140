"""`mode: verify` and `verify: all` name the attribute that differs; `verify: content` keeps to bytes.

Each row of ``CHANGES`` changes one thing behind the run's back, in every direction that can hold it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.outcome import Reason
from tests.support.two_mounts import TwoMounts
from tests.verifying.verified_ends import (
    DIRECTORY,
    FILE,
    FROM_S3,
    INSIDE_S3,
    LINK,
    OLD_NS,
    TO_S3,
    WITHIN,
    Between,
    Direction,
)

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")


def unlinked(root: Path) -> None:
    """A further name becomes a file of its own, the same in all else."""
    name, seen = root / "d/two", (root / "d/two").stat()
    above = (root / "d").stat()
    name.unlink()
    name.write_bytes(b"names")
    name.chmod(seen.st_mode)
    os.utime(name, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    os.utime(root / "d", ns=(above.st_atime_ns, above.st_mtime_ns))


def linked(root: Path) -> None:
    """A file of its own becomes a further name of another."""
    seen = root.stat()
    (root / "alone").unlink()
    os.link(root / "one", root / "alone")
    os.utime(root, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def rewritten(root: Path) -> None:
    seen = (root / FILE).stat()
    (root / FILE).write_bytes(b"c0ntent")
    os.utime(root / FILE, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def moved_on(root: Path, path: str) -> None:
    os.utime(root / path, ns=(5, OLD_NS + 1000), follow_symlinks=False)


def replaced_by_its_target(root: Path) -> None:
    seen, above = (root / LINK).lstat(), root.stat()
    target = os.readlink(root / LINK)
    (root / LINK).unlink()
    (root / LINK).write_text(target)
    os.chown(root / LINK, seen.st_uid, seen.st_gid)
    os.utime(root / LINK, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    os.utime(root, ns=(above.st_atime_ns, above.st_mtime_ns))


OnMount = Callable[[Path], Any]
MODE, OWNER, MTIME = Reason.MODE_DIFFERS, Reason.OWNER_DIFFERS, Reason.MTIME_DIFFERS
METADATA = Reason.METADATA_DIFFERS
# What is changed at a mount, the entries that differ by it, the reason, and whether an object of the source tells.
CHANGES: dict[str, tuple[OnMount, str, Reason, bool]] = {
    "mode of a file": (lambda root: (root / FILE).chmod(0o644), FILE, MODE, True),
    "mode of a directory": (lambda root: (root / "d").chmod(0o700), DIRECTORY, MODE, True),
    "set-id bits": (lambda root: (root / "set-id").chmod(0o755), "set-id", MODE, True),
    "sticky bit": (lambda root: (root / "d").chmod(0o1755), DIRECTORY, MODE, True),
    "owner of a file": (lambda root: os.chown(root / FILE, 1, 4712), FILE, OWNER, True),
    "group of a directory": (lambda root: os.chown(root / "d", -1, 7), DIRECTORY, OWNER, True),
    "owner of a symlink": (lambda root: os.lchown(root / LINK, 1, 1), LINK, OWNER, True),
    "mtime of a file": (lambda root: moved_on(root, FILE), FILE, MTIME, True),
    "mtime of a directory": (lambda root: moved_on(root, "d"), DIRECTORY, MTIME, True),
    "mtime of a symlink": (lambda root: moved_on(root, LINK), LINK, MTIME, True),
    "a name that became a file": (unlinked, "one", Reason.LINKS_DIFFER, False),
    "a file that became a name": (linked, "alone", Reason.LINKS_DIFFER, False),
}


def ends_of(direction: str, base: Path) -> Any:
    if direction == "between":
        return Between(base)
    requests: dict[str, dict[str, Any]] = {"within": WITHIN, "from S3": FROM_S3}
    return Direction(base, requests[direction])


ROWS = [(direction, change) for direction in ("within", "between", "from S3") for change in CHANGES]


@is_root
@pytest.mark.parametrize(("direction", "change"), [row for row in ROWS if row[0] != "from S3" or CHANGES[row[1]][3]])
def test_what_differs_at_a_mount_is_named(tmp_path: Path, direction: str, change: str) -> None:
    make, path, reason, _ = CHANGES[change]
    ends = ends_of(direction, tmp_path)
    assert ends.run("run-1", {})["status"] == "SUCCEEDED"
    make(ends.root)
    found = ends.run("run-2", {"mode": "verify"})
    assert found["status"] == "FAILED_WITH_ITEMS" and found["balanced"]
    assert ends.failures() == {path: reason.value}
    assert found["verification"]["by_class"] == [{"reason": reason.value, "entries": 1}]
    assert found["verification"]["differing_directories"] == [path.removesuffix("/").rpartition("/")[0]]


@is_root
@pytest.mark.parametrize("direction", ["within", "between", "from S3"])
def test_content_is_compared_without_attributes(tmp_path: Path, direction: str) -> None:
    ends = ends_of(direction, tmp_path)
    assert ends.run("run-1", {})["status"] == "SUCCEEDED"
    assert ends.run("run-2", {"mode": "verify"})["status"] == "SUCCEEDED", ends.failures()
    for make, _, _, by_metadata in CHANGES.values():
        if by_metadata or direction != "from S3":
            make(ends.root)
    content = ends.run("run-3", {"mode": "verify", "verify": "content"})
    assert (content["status"], content["verification"]["differences"]) == ("SUCCEEDED", 0), ends.failures()
    assert [one["what"] for one in content["verification"]["not_compared"]] == ["attributes and metadata"]
    rewritten(ends.root)
    replaced_by_its_target(ends.root)
    ends.run("run-4", {"mode": "verify", "verify": "content"})
    assert ends.failures() == {FILE: "checksum differs", LINK: "size or kind differs"}
    ends.run("run-5", {"mode": "verify"})
    assert ends.failures().items() >= {FILE: "checksum differs", LINK: "size or kind differs"}.items()


OBJECT_CHANGES: dict[str, tuple[str, dict[str, Any], Reason]] = {
    "mode of a file": (FILE, {"mode": 0o100600}, MODE),
    "mode of a directory": (DIRECTORY, {"mode": 0o040700}, MODE),
    "set-id bits": ("set-id", {"mode": 0o100755}, MODE),
    "owner of a file": (FILE, {"uid": 1}, OWNER),
    "group of a directory": (DIRECTORY, {"gid": 7}, OWNER),
    "owner of a symlink": (LINK, {"gid": 7}, OWNER),
    "mtime of a file": (FILE, {"mtime_ns": 5}, MTIME),
    "mtime of a directory": (DIRECTORY, {"mtime_ns": 5}, MTIME),
    "mtime of a symlink": (LINK, {"mtime_ns": 5}, MTIME),
    "content type": (
        FILE,
        {"headers": {"content-type": "x/y", "x-amz-meta-project": "alpha"}},
        Reason.METADATA_DIFFERS,
    ),
    "user metadata": (FILE, {"headers": {"content-type": "text/plain"}}, Reason.METADATA_DIFFERS),
    "metadata of a directory": (DIRECTORY, {"headers": {"x-amz-meta-a": "b"}}, Reason.METADATA_DIFFERS),
}


@pytest.mark.parametrize("change", OBJECT_CHANGES)
@pytest.mark.parametrize("request_", [TO_S3, INSIDE_S3], ids=["to S3", "inside S3"])
def test_what_differs_in_an_objects_metadata_is_named(tmp_path: Path, request_: Json, change: str) -> None:
    path, changes, reason = OBJECT_CHANGES[change]
    if request_ == INSIDE_S3:
        reason = METADATA  # all that CopyObject carries is metadata
    elif "headers" in changes:
        return  # a file has none
    ends = Direction(tmp_path, request_)
    assert ends.run("run-1", {})["status"] == "SUCCEEDED"
    ends.change(path, **changes)
    found = ends.run("run-2", {"mode": "verify"})
    assert ends.failures() == {path: reason.value}, ends.messages()
    assert found["verification"]["by_class"] == [{"reason": reason.value, "entries": 1}]


@pytest.mark.parametrize("request_", [TO_S3, INSIDE_S3], ids=["to S3", "inside S3"])
def test_content_of_objects_is_compared_without_metadata(tmp_path: Path, request_: Json) -> None:
    ends = Direction(tmp_path, request_)
    assert ends.run("run-1", {})["status"] == "SUCCEEDED"
    assert ends.run("run-2", {"mode": "verify"})["status"] == "SUCCEEDED", ends.messages()
    for path, changes, _ in OBJECT_CHANGES.values():
        ends.change(path, **changes)
    assert ends.run("run-3", {"mode": "verify", "verify": "content"})["status"] == "SUCCEEDED"
    ends.change(FILE, data=b"c0ntent")
    ends.run("run-4", {"mode": "verify", "verify": "content"})
    assert ends.failures() == {FILE: "checksum differs"}


@pytest.mark.parametrize("request_", [WITHIN, TO_S3, FROM_S3, INSIDE_S3])
@pytest.mark.parametrize("split_bytes", [tuning.SPLIT_BYTES, tuning.BLOCK_BYTES])
def test_after_a_copy_both_whole_trees_are_equal(tmp_path: Path, request_: Json, split_bytes: int) -> None:
    ends = Direction(tmp_path, request_, {"limits": {"split_bytes": split_bytes}})
    for number, verify in enumerate(("all", "content")):
        summary = ends.run(f"run-{number}", {"verify": verify, "compare": "always"})
        assert summary["status"] == "SUCCEEDED", ends.messages()
        assert summary["verification"]["differences"] == 0
        assert summary["verification"]["by_class"] == []


SYNC = {"mode": "sync", "delete_guard": {"max_percent": 100}}


@pytest.mark.parametrize("options", [{"symlinks": "follow"}, SYNC])
@pytest.mark.parametrize("direction", ["within", "between"])
def test_the_same_where_symlinks_are_followed_and_after_a_sync(tmp_path: Path, direction: str, options: Json) -> None:
    if direction == "between":
        if "mode" in options:
            return  # no function sees both ends
        ends: Any = Between(tmp_path, options)
        ends.mounts = TwoMounts(tmp_path, follow=True)
        source = ends.mounts.source_root
    else:
        ends = Direction(tmp_path, WITHIN, options)
        source = tmp_path / "in"
        if "symlinks" in options:
            ends.world.source = PosixTree(tmp_path, "in", "run-1", "s", "source", follow=True)
    (ends.root / "d").mkdir(parents=True, exist_ok=True)
    if "mode" in options:
        (ends.root / "d/extra").write_text("deleted by the sync")
    (source / "to-directory").symlink_to("d/empty")
    (source / "to-name").symlink_to("one")
    summary = ends.run("run-1", {"verify": "all"})
    assert (summary["status"], ends.failures()) == ("SUCCEEDED", {})
    assert summary["totals"]["deleted"]["entries"] == ("mode" in options)
    assert ends.run("run-2", options | {"mode": "verify"})["status"] == "SUCCEEDED", ends.failures()


@is_root
def test_the_worst_class_is_the_reason_and_the_message_names_all(tmp_path: Path) -> None:
    ends = Direction(tmp_path, WITHIN)
    ends.run("run-1", {})
    (ends.root / FILE).chmod(0o644)
    os.chown(ends.root / FILE, 0, 0)
    moved_on(ends.root, FILE)
    ends.run("run-2", {"mode": "verify"})
    assert ends.failures() == {FILE: "mode differs"}
    assert ends.messages()[FILE] == (
        "mode 0640 at the source, 0644 at the destination; owner 4711:4712 at the source, 0:0 at the destination; "
        "mtime 2009-02-13T23:31:30.123456789Z at the source, 2009-02-13T23:31:30.123457789Z at the destination"
    )
    rewritten(ends.root)
    ends.run("run-3", {"mode": "verify"})
    assert ends.failures() == {FILE: "checksum differs"}
    assert "mode 0640" in ends.messages()[FILE]
