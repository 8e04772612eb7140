"""What the tests of a move share: its request, a source, and how far a run goes."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from msgspec import convert

from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.verifying.begin_verification import begin_verification
from tests.support.flow import World
from tests.support.mounts import world_of

MOVE: Json = {"source": "efs:///in", "destination": "efs:///out", "mode": "move"}


def filled(mount: Path) -> dict[str, bytes]:
    """A source with files, names of one file, a symlink and directories; returns the bytes of its files."""
    root = mount / "in"
    contents = {f"d{number % 3}/e{number % 2}/f{number}": bytes([number]) * (number + 1) for number in range(12)}
    for path, data in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "empty/deep").mkdir(parents=True)
    os.link(root / "d0/e0/f0", root / "d1/name")
    (root / "d2/link").symlink_to("nowhere")
    return contents | {"d1/name": contents["d0/e0/f0"]}


def held(root: Path) -> dict[str, bytes]:
    """The bytes of all files below a directory."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def names(root: Path) -> set[str]:
    """Everything below a directory."""
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def copied(mount: Path, request: Json | None = None, run_id: str = "run-1") -> World:
    """A move up to where it compares."""
    world = world_of(mount, run_id)
    world.list_all(world.plan(request or MOVE))
    world.copy_all()
    world.finish_all()
    return world


def compared(world: World) -> World:
    """The world of the comparison inside a move, up to where it would delete."""
    begun = begin_verification(world.context(), "work")
    assert begun["run"]["moves"]
    inner = dataclasses.replace(world, prefix=begun["run"]["prefix"])
    inner.list_all(begun)
    partition_shards(inner.context())
    inner.verify_all()
    return inner


def to_delete(inner: World) -> list[Shard]:
    """The shards of files that DeleteShards is handed."""
    return [convert(row["shard"], Shard) for row in inner.ledger.read_json("deletions.json")]


def reasons(world: World) -> dict[str, Any]:
    """The reasons of the failed entries of a run that has its summary, by path."""
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}
