"""Two directories of one mount, and the flow between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fanout.adapters.posix.tree import PosixTree
from fanout.finishing.finish_tree import finish_tree
from fanout.model.checksum import NO_BYTES
from fanout.model.entry import Attributes, Entry, Kind
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import World

REQUEST = {"source": "efs:///in", "destination": "efs:///out"}


def writable(tree: PosixTree) -> PosixTree:
    """The tree, as CheckMount leaves it."""
    tree.check(writing=True)
    return tree


def write_whole(tree: PosixTree, path: str, data: bytes = b"data") -> None:
    """A file of a tree, as a copy writes it."""
    target = tree.create(Entry(path, Kind.FILE, len(data)), Attributes())
    try:
        target.write(0, data)
        target.commit(NO_BYTES)
    finally:
        target.abort()


def world_of(mount: Path, run_id: str = "run-1") -> World:
    source = PosixTree(mount, "in", run_id, "source", "source")
    return World(source=source, destination=PosixTree(mount, "out", run_id, "n"), run_id=run_id)


def fill(mount: Path, *paths: str) -> Path:
    for path in paths:
        (mount / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (mount / "in" / path).write_text(f"content of {path}")
    return mount / "in"


def listed(mount: Path) -> World:
    world = world_of(mount)
    world.list_all(world.plan(REQUEST))
    return world


def copied(world: World) -> Any:
    world.copy_all()
    finish_tree(world.context())
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert summary["balanced"]
    return summary


def reasons(world: World) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}


def files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file()}
