"""The request option symlinks, through the whole flow."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.entry import Attributes, Kind
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree

LINK = Attributes(mode=stat.S_IFLNK | 0o777)
TO_S3 = {"source": "efs:///in", "destination": "s3://a-bucket/out/"}


def posix_world(tmp_path: Path, *, follow: bool) -> tuple[World, Path]:
    source = tmp_path / "in"
    (source / "d").mkdir(parents=True)
    (source / "d/f").write_text("content")
    for name, target in {"file": "d/f", "dir": "d", "d/loop": "..", "gone": "nothing", "out": "../secret"}.items():
        (source / name).symlink_to(target)
    (tmp_path / "secret").write_text("secret")
    return World(source=PosixTree(tmp_path, "in", "run-1", "n", "source", follow=follow)), source


def contents(world: World) -> dict[str, tuple[Kind, bytes]]:
    assert isinstance(world.destination, MemoryTree)
    return {path: (stored.entry.kind, stored.data) for path, stored in world.destination.contents().items()}


def reasons(world: World) -> dict[str, tuple[str, str]]:
    return {row["path"]: (row["outcome"], row["reason"]) for row in world.ledger.read_rows("failures.jsonl")}


def test_keep_is_the_default(tmp_path: Path) -> None:
    world, _ = posix_world(tmp_path, follow=False)
    assert world.run(TO_S3)["status"] == "SUCCEEDED"
    assert contents(world)["out"] == (Kind.SYMLINK, b"../secret")
    assert contents(world)["dir"] == (Kind.SYMLINK, b"d")


def test_skip_leaves_them_out_with_a_reason(tmp_path: Path) -> None:
    world, _ = posix_world(tmp_path, follow=False)
    summary = world.run({**TO_S3, "symlinks": "skip"})
    assert summary["status"] == "SUCCEEDED"
    assert summary["totals"]["skipped"]["entries"] == 5
    assert contents(world) == {"d/": (Kind.DIRECTORY, b""), "d/f": (Kind.FILE, b"content")}


def test_follow_copies_what_they_lead_to_and_names_every_other(tmp_path: Path) -> None:
    world, _ = posix_world(tmp_path, follow=True)
    summary = world.run({**TO_S3, "symlinks": "follow"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["balanced"]
    assert {path: data for path, (kind, data) in contents(world).items() if kind is Kind.FILE} == {
        "d/f": b"content",
        "dir/f": b"content",
        "file": b"content",
    }
    loop = ("rejected", "symlink that leads back to a directory above it")
    assert reasons(world) == {
        "d/loop": loop,
        "dir/loop": loop,
        "gone": ("failed", "symlink that leads nowhere"),
        "out": ("rejected", "symlink that leads out of the source"),
    }


@pytest.mark.parametrize(
    ("symlinks", "status", "became"),
    [
        ("keep", "SUCCEEDED", ("copied", "")),
        ("skip", "SUCCEEDED", ("skipped", "")),
        ("follow", "FAILED_WITH_ITEMS", ("rejected", "symlink kept as an object cannot be followed")),
    ],
)
def test_an_object_that_says_it_is_a_symlink(
    symlinks: str, status: str, became: tuple[str, str], tmp_path: Path
) -> None:
    world = World(destination=PosixTree(tmp_path, "copy", "run-1", "n"))
    assert isinstance(world.source, MemoryTree)
    world.source.put("link", Kind.FILE, b"some/where", LINK)
    summary: Any = world.run({**REQUEST, "symlinks": symlinks})
    assert (summary["status"], summary["totals"][became[0]]["entries"]) == (status, 1)
    assert (tmp_path / "copy/link").is_symlink() is (symlinks == "keep")
    if became[1]:
        assert reasons(world) == {"link": became}
