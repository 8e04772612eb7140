"""Two directories of one mount, and the flow between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanout.adapters.posix.tree import PosixTree
from fanout.finishing.finish_tree import finish_tree
from fanout.model.checksum import NO_BYTES
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.file_system import Staged
from fanout.ports.store import WorkStore
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import World
from tests.support.memory_store import MemoryStore

REQUEST = {"source": "efs:///in", "destination": "efs:///out"}


def writable(tree: PosixTree) -> PosixTree:
    """The tree, as CheckMount leaves it."""
    tree.check(writing=True)
    return tree


def noted(*directories: Path) -> Callable[[str], list[Staged]]:
    """A ledger of any run that says that it made these directories."""
    found = [directory.stat() for directory in directories]
    return lambda _run_id: [Staged(str(one.st_ino), one.st_uid) for one in found]


def fence(later: PosixTree, place: str, tree: PosixTree) -> bool:
    """Take the right to write from a run, whose directory is at ``place``, as its ledger notes it."""
    staged = tree.staged()
    assert staged is not None
    return later._staging.fence(place, tree._token.run_id, [staged]).removed


def write_whole(tree: PosixTree, path: str, data: bytes = b"data", inode: str = "") -> None:
    """A file of a tree, as a copy writes it; with an ``inode`` it is to get further names."""
    target = tree.create(Entry(path, Kind.FILE, len(data), inode=inode), Attributes())
    try:
        target.write(0, data)
        target.commit(NO_BYTES)
    finally:
        target.abort()


def world_of(mount: Path, run_id: str = "run-1", store: WorkStore | None = None) -> World:
    """A run of a stack of its own, or of the one with this work bucket: it fences those whose ledgers it can read."""
    source = PosixTree(mount, "in", run_id, "source", "source")
    destination = PosixTree(mount, "out", run_id, "n")
    return World(source=source, destination=destination, run_id=run_id, store=store or MemoryStore())


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
