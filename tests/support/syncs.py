"""What the tests of a sync share: its request, two trees, and how far a run goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import convert

from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from fanout.model.shard import Shard
from tests.support.flow import World
from tests.support.mounts import world_of

SYNC: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "sync", "delete_guard": {"max_percent": 99.0}}
KEEP = [f"keep/{number}" for number in range(20)]


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def names(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def extended(tmp_path: Path) -> Path:
    """A source, and a destination that holds the same and more."""
    write(tmp_path / "in", *KEEP)
    write(tmp_path / "out", *KEEP, "old", "keep/old", "gone/deep/er/file", "gone/file")
    (tmp_path / "out/gone/empty").mkdir()
    (tmp_path / "out/link").symlink_to("/etc/passwd")
    return tmp_path


def listed(mount: Path, request: Json = SYNC) -> World:
    world = world_of(mount)
    world.list_all(world.plan(request))
    return world


def copied(mount: Path, request: Json = SYNC) -> World:
    """A sync up to where it would delete."""
    world = listed(mount, request)
    world.copy_all()
    finish_tree(world.context(), deletes=True)
    return world


def deletions(world: World) -> list[Any]:
    return [convert(row["shard"], Shard) for row in world.ledger.read_json("deletions.json")]


def ended(world: World) -> Json:
    while not remove_directories(world.context())["done"]:
        pass
    return world.end()


def reasons(world: World) -> dict[str, str]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
