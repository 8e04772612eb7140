"""`mode: verify` and `verify: all` name the attribute that differs; `verify: content` keeps to bytes.

Each row of ``CHANGES`` changes one thing behind the run's back, in every direction that can hold it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.adapters.memory import MemoryEntryCopier, MemoryTree, Stored
from fanout.adapters.memory_store import MemoryStore
from fanout.adapters.posix.tree import PosixTree
from fanout.domain import limits
from fanout.domain.entries import Attributes, Kind
from fanout.domain.outcomes import Reason
from fanout.domain.rows import Json
from tests.support.flow import World
from tests.support.nobody import as_nobody, open_directory
from tests.support.two_mounts import TwoMounts

is_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
WITHIN = {"source": "efs:///in", "destination": "efs:///out"}
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/", "content_type": "none"}
FROM_S3 = {"source": "s3://a-bucket/in/", "destination": "efs:///out"}
INSIDE_S3 = {"source": "s3://a-bucket/in/", "destination": "s3://a-bucket/out/"}
OLD_NS = 1_234_567_890_123_456_789
FILE, DIRECTORY, LINK = "d/f", "d/", "link"


def filled(root: Path) -> Path:
    """One of each kind of entry."""
    (root / "d/empty").mkdir(parents=True)
    (root / FILE).write_bytes(b"content")
    (root / FILE).chmod(0o640)
    (root / "set-id").write_bytes(b"#!")
    (root / "set-id").chmod(0o6755)
    (root / "one").write_bytes(b"names")
    os.link(root / "one", root / "d/two")
    (root / "alone").write_bytes(b"names")
    (root / LINK).symlink_to("d/f")
    with (root / "sparse").open("wb") as sparse:
        sparse.truncate(3 * limits.MIB)
    if not os.geteuid():
        for name in (FILE, LINK, "d/empty"):
            os.lchown(root / name, 4711, 4712)
    for number, name in enumerate([FILE, "set-id", "one", LINK, "sparse", "d/empty", "d"]):
        os.utime(root / name, ns=(OLD_NS, OLD_NS + number), follow_symlinks=False)
    os.utime(root / "alone", ns=(OLD_NS, (root / "one").stat().st_mtime_ns))
    return root


def in_store(tree: MemoryTree) -> None:
    """The same, as a copy to a bucket leaves it."""
    named = {"content-type": "text/plain", "x-amz-meta-project": "alpha"}
    attributes = Attributes(0o100640, 4711, 4712, OLD_NS, OLD_NS, named)
    tree.put(DIRECTORY, Kind.DIRECTORY, b"", replace(attributes, mode=0o040755, headers={}))
    tree.put(FILE, Kind.FILE, b"content", attributes)
    tree.put("set-id", Kind.FILE, b"#!", replace(attributes, mode=0o106755))
    tree.put(LINK, Kind.SYMLINK, b"d/f", replace(attributes, mode=0o120777, headers={}))


class Direction:
    """Two ends, runs between them, and a way to change the destination."""

    def __init__(self, base: Path, request: Json, options: Json | None = None) -> None:
        self.base, self.request = base, request | (options or {})
        self.root = base / "out"
        self.store: MemoryTree | None = None
        copier = None
        if request in (WITHIN, TO_S3):
            filled(base / "in")
            source: Any = PosixTree(base, "in", "run-1", "s", "source")
        else:
            source = MemoryTree()
            in_store(source)
        if request in (WITHIN, FROM_S3):
            destination: Any = PosixTree(base, "out", "run-1", "d")
        else:
            destination = self.store = MemoryTree()
        if request == INSIDE_S3:
            assert self.store is not None
            copier = MemoryEntryCopier(source, self.store)
        self.world = World(source=source, destination=destination, store=MemoryStore(), copier=copier)

    def run(self, run_id: str, options: Json) -> Json:
        self.world = self.world.next_run(run_id)
        return self.world.run(self.request | options)

    def failures(self) -> dict[str, str]:
        return {row["path"]: row["reason"] for row in self.world.ledger.read_rows("failures.jsonl")}

    def messages(self) -> dict[str, str]:
        return {row["path"]: row["message"] for row in self.world.ledger.read_rows("failures.jsonl")}

    def change(self, path: str, **changes: Any) -> None:
        """Change attributes of an object, or its bytes."""
        assert self.store is not None
        stored: Stored = self.store.contents()[path]
        data = changes.pop("data", stored.data)
        self.store.put(path, stored.entry.kind, data, replace(stored.attributes, **changes))


class Between:
    """The same between two mounts."""

    def __init__(self, base: Path, options: Json | None = None) -> None:
        self.mounts, self.options = TwoMounts(base), options or {}
        filled(self.mounts.source_root)
        self.root = self.mounts.root

    def run(self, run_id: str, options: Json) -> Json:
        self.mounts = self.mounts.next_run(run_id)
        summary: Json = self.mounts.run(self.options | options)
        return summary

    def failures(self) -> dict[str, str]:
        return self.mounts.failures()


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
    return Direction(base, {"within": WITHIN, "from S3": FROM_S3}[direction])


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
    assert content["verification"]["not_compared"] == []
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
@pytest.mark.parametrize("split_bytes", [limits.SPLIT_BYTES, limits.BLOCK_BYTES])
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


def not_compared(summary: Json) -> dict[str, int | None]:
    return {one["what"]: one["entries"] for one in summary["verification"]["not_compared"]}


def test_an_object_without_metadata_holds_nothing_to_compare(tmp_path: Path) -> None:
    ends = Direction(tmp_path, FROM_S3)
    assert isinstance(ends.world.source, MemoryTree)
    ends.world.source.put("plain", Kind.FILE, b"put by somebody", Attributes(headers={"content-type": "text/plain"}))
    assert ends.run("run-1", {"verify": "all"})["status"] == "SUCCEEDED"
    (ends.root / "plain").chmod(0o600)
    os.utime(ends.root / "plain", ns=(1, 1))
    found = ends.run("run-2", {"mode": "verify"})
    assert found["status"] == "SUCCEEDED"
    assert not_compared(found)["attributes"] == 1
    assert not_compared(ends.run("run-3", {"mode": "verify", "verify": "content"})) == {}


def test_tags_of_objects_are_said_not_to_be_compared(tmp_path: Path) -> None:
    ends = Direction(tmp_path, INSIDE_S3)
    assert not_compared(ends.run("run-1", {"verify": "all"})) == {"tags": None}


@pytest.mark.parametrize("owner_of_set_id", [0o4755, 0o6755])
def test_owners_that_can_not_be_kept_are_no_difference(owner_of_set_id: int) -> None:
    with open_directory() as mount:
        filled(mount / "in")
        (mount / "in" / FILE).chmod(0o644)
        (mount / "in/set-id").chmod(owner_of_set_id)
        (mount / "out").mkdir()
        (mount / "out").chmod(0o777)

        def run() -> Any:
            world = World(
                source=PosixTree(mount, "in", "run-1", "s", "source"), destination=PosixTree(mount, "out", "run-1", "d")
            )
            found = [world.run({**WITHIN, "verify": "all"}), world.next_run("run-2").run({**WITHIN, "mode": "verify"})]
            (mount / "out" / FILE).chmod(0o600)
            (mount / "out/set-id").chmod(0o4755)
            third = world.next_run("run-3")
            return [*found, third.run({**WITHIN, "mode": "verify"}), list(third.ledger.read_rows("failures.jsonl"))]

        copied, verified, changed, rows = as_nobody(run)
        for summary in (copied, verified):
            assert summary["status"] == "SUCCEEDED", rows
            if not os.geteuid():
                assert "owners" in not_compared(summary)
                (why,) = [one["why"] for one in summary["verification"]["not_compared"] if one["what"] == "owners"]
                assert "owners can not be kept" in why
        assert changed["status"] == "FAILED_WITH_ITEMS"
        assert FILE in {row["path"] for row in rows if row["reason"] == "mode differs"}


def test_a_copy_that_drops_set_id_bits_may_not_have_more_of_them(tmp_path: Path) -> None:
    """Without an owner that is held the bits may be missing, but never be there when the source has none."""
    ends = Direction(tmp_path, FROM_S3)
    assert isinstance(ends.world.source, MemoryTree)
    ends.world.source.put("no-owner", Kind.FILE, b"#!", Attributes(0o106755))
    ends.world.source.put("plain", Kind.FILE, b"#!", Attributes(0o100755))
    ends.run("run-1", {})
    (ends.root / "no-owner").chmod(0o755)
    (ends.root / "plain").chmod(0o4755)
    ends.run("run-2", {"mode": "verify"})
    assert ends.failures() == {"plain": "mode differs"}


def names_of(root: Path, count: int, limit: int) -> None:
    """``count`` names of one file, as files of at most ``limit`` names each."""
    root.mkdir(exist_ok=True)
    for number in range(count):
        if number % limit:
            os.link(root / f"n{number - number % limit:04}", root / f"n{number:04}")
        else:
            (root / f"n{number:04}").write_bytes(b"x")
            os.utime(root / f"n{number:04}", ns=(OLD_NS, OLD_NS))


@pytest.mark.parametrize(("limit", "differs"), [(1_000, False), (176, False), (60, True)])
@pytest.mark.parametrize("names_held", [limits.LINKED_NAMES, 50])
def test_names_over_the_limit_of_efs_may_be_several_files(
    tmp_path: Path, limit: int, differs: bool, names_held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LINKED_NAMES", names_held)
    names_of(tmp_path / "in", 200, 1_000)
    names_of(tmp_path / "out", 200, limit)
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    summary = world.run({**WITHIN, "mode": "verify"})
    assert (summary["status"] == "FAILED_WITH_ITEMS") is differs
    assert summary["totals"]["listed"]["entries"] == 200 and summary["balanced"]
    reasons = {row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
    assert reasons == ({"hard links differ"} if differs else set())


@is_root
def test_attributes_of_a_file_compared_in_blocks_are_compared_once(tmp_path: Path) -> None:
    options = {"limits": {"split_bytes": limits.BLOCK_BYTES, "shard_seconds": 0.1}}
    for ends in (Direction(tmp_path / "a", WITHIN, options), Between(tmp_path / "b", options)):
        source = ends.root.parent / "in" if isinstance(ends, Direction) else ends.mounts.source_root
        (source / "big").write_bytes(os.urandom(2 * limits.BLOCK_BYTES + 5))
        assert ends.run("run-1", {"verify": "all"})["status"] == "SUCCEEDED", ends.failures()
        (ends.root / "big").chmod(0o600)
        found = ends.run("run-2", {"mode": "verify"})
        assert ends.failures() == {"big": "mode differs"}
        assert found["verification"]["by_class"] == [{"reason": "mode differs", "entries": 1}]
        assert ends.run("run-3", {"mode": "verify", "verify": "content"})["status"] == "SUCCEEDED"


def test_a_copy_of_more_names_than_a_file_of_efs_has_is_equal(tmp_path: Path) -> None:
    names_of(tmp_path / "in", 200, 1_000)
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    assert world.run({**WITHIN, "verify": "all"})["status"] == "SUCCEEDED"
    assert len({path.stat().st_ino for path in (tmp_path / "out").iterdir()}) == 2


@is_root
def test_owners_are_compared_where_no_run_has_tried_to_keep_them(tmp_path: Path) -> None:
    for name, owner in (("in", 4711), ("out", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("f")
        os.chown(tmp_path / name / "f", owner, owner)
        os.utime(tmp_path / name / "f", ns=(OLD_NS, OLD_NS))
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    assert world.run({**WITHIN, "mode": "verify"})["verification"]["by_class"] == [
        {"reason": "owner differs", "entries": 1}
    ]
    assert "the verification found: owner differs 1" in world.ledger.read_json("summary.json")["error"]["message"]
    assert "owner differs" in world.store.get("runs/run-1/report.html").decode()


def test_a_name_of_a_file_too_large_for_one_function_is_compared_by_itself_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "COMPARE_BYTES", limits.BLOCK_BYTES)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/big").write_bytes(bytes(limits.BLOCK_BYTES + 1))
    os.link(tmp_path / "in/big", tmp_path / "in/other")
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"), destination=PosixTree(tmp_path, "out", "run-1", "d")
    )
    summary = world.run({**WITHIN, "verify": "all", "limits": {"split_bytes": limits.BLOCK_BYTES}})
    assert summary["status"] == "SUCCEEDED"
    assert not_compared(summary)["hard links"] == 2
