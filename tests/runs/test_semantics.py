"""The table of docs/understand/what-is-copied.md, row by row: what becomes of what a tree holds."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Kind
from tests.support.flow import World
from tests.support.memory import MemoryTree

DOCUMENT = Path(__file__).parents[2] / "docs/understand/what-is-copied.md"
DIRECTIONS = ("EFS to EFS", "EFS to S3", "S3 to EFS")
NONE = "n/a"
LINK = Attributes(mode=stat.S_IFLNK | 0o777)
MIB = 1024**2
# Set-id bits of root come from S3 only where the stack names root among the allowed owners.
NOT_ROOT = (os.geteuid() or 1000, os.getegid() or 1000)
Make = Callable[[Path], Any]
Put = Callable[[MemoryTree], Any]


@dataclass(frozen=True)
class Row:
    """One thing: how it is made at a file system as ``x`` and in a store, the request's option, what becomes of it."""

    thing: str
    make: Make
    put: Put | None
    became: tuple[str, str, str]
    symlinks: str = "keep"


def link(target: str, *, file: str = "") -> Make:
    def make(root: Path) -> None:
        if file:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text("content")
        (root / "x").symlink_to(target)

    return make


def linked_twice(root: Path) -> None:
    (root / "x").write_text("content")
    os.link(root / "x", root / "y")


def with_every_bit(root: Path) -> None:
    (root / "x").write_text("content")
    (root / "x").chmod(0o7751)
    os.utime(root / "x", ns=(5, 7))


def sparse(root: Path) -> None:
    with (root / "x").open("wb") as file:
        file.truncate(20 * MIB)


def put_link(tree: MemoryTree) -> None:
    tree.put("x", Kind.FILE, b"some/where", LINK)


def put_file(body: bytes) -> Put:
    return lambda tree: tree.put("x", Kind.FILE, body)


KEPT = "copied"
ROWS = [
    Row("file", lambda root: (root / "x").write_text("content"), put_file(b"content"), (KEPT, KEPT, KEPT)),
    Row("empty file", lambda root: (root / "x").write_text(""), put_file(b""), (KEPT, KEPT, KEPT)),
    Row(
        "empty directory",
        lambda root: (root / "x").mkdir(),
        lambda tree: tree.put("x/", Kind.DIRECTORY),
        (KEPT, "copied: an object without bytes whose key ends in `/`", KEPT),
    ),
    Row(
        "symlink, `symlinks: keep`",
        link("some/where"),
        put_link,
        (KEPT, "copied: an object that holds the target", "copied: a symlink"),
    ),
    Row(
        "symlink, `skip`",
        link("some/where"),
        put_link,
        ("skipped", "skipped", "skipped"),
        "skip",
    ),
    Row(
        "symlink to a file, `follow`",
        link("d/f", file="d/f"),
        put_link,
        ("copied: a file with what it leads to", "copied: an object with what it leads to", "rejected"),
        "follow",
    ),
    Row(
        "symlink to a directory, `follow`",
        link("d", file="d/f"),
        None,
        ("copied: a directory and what it holds", "copied: objects for it and what it holds", NONE),
        "follow",
    ),
    Row("symlink to nothing, `follow`", link("nothing"), None, ("failed", "failed", NONE), "follow"),
    Row(
        "symlink to a directory above it, `follow`",
        link("."),
        None,
        ("rejected", "rejected", NONE),
        "follow",
    ),
    Row(
        "symlink that leads out of the source or is absolute, `follow`",
        link("../outside"),
        None,
        ("rejected, its target not opened", "rejected, its target not opened", NONE),
        "follow",
    ),
    Row(
        "file with several names",
        linked_twice,
        None,
        ("copied: names of one file", "copied: an object for each name, and a note of how many", NONE),
    ),
    Row(
        "sparse file, or 64 KiB of zeros",
        sparse,
        put_file(bytes(20 * MIB)),
        ("copied: holes", "copied: zeros", "copied: holes"),
    ),
    Row("FIFO, socket, device", lambda root: os.mkfifo(root / "x"), None, ("skipped", "skipped", NONE)),
    Row(
        "mode with set-uid, set-gid and sticky bits, times in nanoseconds",
        with_every_bit,
        lambda tree: tree.put(
            "x", Kind.FILE, b"content", Attributes(0o107751, os.geteuid() or 1000, os.getegid() or 1000, 7, 5)
        ),
        (KEPT, "copied: in the object's metadata", "copied: from the object's metadata"),
    ),
]


def rendered() -> list[str]:
    """The table as it stands in the document."""
    head = f"| what the tree holds | {' | '.join(DIRECTIONS)} |"
    return [head, "|---|---|---|---|"] + [f"| {row.thing} | {' | '.join(row.became)} |" for row in ROWS]


def test_the_document_holds_the_table() -> None:
    assert "\n".join(rendered()) in DOCUMENT.read_text()


@dataclass
class Ran:
    """A run and its two ends."""

    world: World
    summary: Any
    root: Path

    def outcome(self) -> str:
        """What became of ``x``."""
        for key in self.world.ledger.keys("outcomes/"):
            if key.endswith(".jsonl.gz"):
                for row in self.world.ledger.read_rows(key):
                    if row["path"].removesuffix("/") == "x":
                        assert row["outcome"] == "copied" or row["reason"]
                        return str(row["outcome"])
        raise AssertionError("no outcome")


def run(row: Row, direction: str, mount: Path) -> Ran:
    (mount / "in").mkdir()
    (mount / "outside").write_text("secret")
    row.make(mount / "in")
    source: Any = PosixTree(mount, "in", "run-1", "s", "source", follow=row.symlinks == "follow")
    destination: Any = PosixTree(mount, "out", "run-1", "n")
    if direction == "EFS to S3":
        destination = MemoryTree()
    if direction == "S3 to EFS":
        source = MemoryTree()
        assert row.put is not None
        row.put(source)
    ends = [f"s3://a-bucket/{name}/" if end == "S3" else f"efs:///{name}" for end, name in _ends(direction)]
    world = World(source=source, destination=destination)
    asked = {"attributes": {"set_ids": True}} if (direction, row.make) == ("S3 to EFS", with_every_bit) else {}
    summary = world.run({"source": ends[0], "destination": ends[1], "symlinks": row.symlinks, **asked})
    return Ran(world, summary, mount / "out")


def _ends(direction: str) -> list[tuple[str, str]]:
    source, _, destination = direction.partition(" to ")
    return [(source, "in"), (destination, "out")]


CASES = [
    pytest.param(row, direction, became, id=f"{row.thing}, {direction}")
    for row in ROWS
    for direction, became in zip(DIRECTIONS, row.became, strict=True)
    if became != NONE
]


@pytest.mark.parametrize(("row", "direction", "became"), CASES)
def test_row(row: Row, direction: str, became: str, tmp_path: Path) -> None:
    ran = run(row, direction, tmp_path)
    result = became.partition(":")[0].partition(",")[0]
    assert ran.outcome() == result
    assert ran.summary["balanced"]
    assert (ran.summary["status"] == "SUCCEEDED") is (result in ("copied", "skipped"))
    if direction == "EFS to S3":
        _check_objects(row, ran, result)
    elif result == "copied":
        _check_files(row, ran, tmp_path / "in" if direction == "EFS to EFS" else None)
    else:
        assert not os.path.lexists(ran.root / "x")


def _check_files(row: Row, ran: Ran, source: Path | None) -> None:
    copy = ran.root / "x"
    if row.thing.startswith("symlink") and row.symlinks == "keep":
        assert os.readlink(copy) == "some/where"
        return
    assert not copy.is_symlink()
    if "several names" in row.thing:
        assert copy.stat().st_ino == (ran.root / "y").stat().st_ino
    if "sparse" in row.thing:
        assert (copy.stat().st_size, copy.stat().st_blocks) == (20 * MIB, 0)
    if "to a directory" in row.thing:
        assert (copy / "f").read_text() == "content"
    if "set-uid" in row.thing:
        assert (stat.S_IMODE(copy.stat().st_mode), copy.stat().st_mtime_ns) == (0o7751, 7)
    if source is not None and copy.is_file():
        assert copy.read_bytes() == (source / "x").read_bytes()


def _check_objects(row: Row, ran: Ran, result: str) -> None:
    assert isinstance(ran.world.destination, MemoryTree)
    there = ran.world.destination.contents()
    if result != "copied":
        assert not {"x", "x/"} & set(there)
        return
    stored = there.get("x") or there["x/"]
    assert stored.attributes.is_symlink is (row.thing == "symlink, `symlinks: keep`")
    if "several names" in row.thing:
        assert there["y"].data == stored.data == b"content"
        assert ran.summary["notes"]
    if "to a directory" in row.thing:
        assert there["x/f"].data == b"content"
    if "sparse" in row.thing:
        assert stored.data == bytes(20 * MIB)
    if "set-uid" in row.thing:
        assert (stored.attributes.mode, stored.attributes.mtime_ns) == (0o107751, 7)
