"""Functions that are killed in the middle of finishing, at operations that a seed chose: nothing stays undone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.finishing.divide import FinishShard
from fanout.finishing.finish_shard import finish_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.model.entry import Attributes, Entry
from fanout.work.context import Context
from tests.support.finishing import difference, divided, filled_tree
from tests.support.flow import World
from tests.support.long import LONG
from tests.support.memory_store import MemoryStore

KILLS = 200 if LONG else 60
REQUEST = {"source": "efs:///in", "destination": "efs:///out"}


class Killed(BaseException):
    """The function is gone: no operation after this one takes place."""


class Life:
    """How many operations a function has left; without a number it lives on."""

    def __init__(self) -> None:
        self.left: int | None = None

    def step(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise Killed


class MortalStore(MemoryStore):
    def __init__(self, life: Life) -> None:
        super().__init__()
        self._life = life

    def put(self, key: str, data: bytes) -> None:
        self._life.step()
        super().put(key, data)

    def get(self, key: str) -> bytes:
        self._life.step()
        return super().get(key)

    def list(self, prefix: str) -> Iterator[str]:
        self._life.step()
        return super().list(prefix)


class MortalTree(PosixTree):
    life: Life

    def set_attributes(self, entry: Entry, attributes: Attributes, *, is_closed: bool = True) -> None:
        self.life.step()
        super().set_attributes(entry, attributes, is_closed=is_closed)

    def link(self, entry: Entry, first: str) -> None:
        self.life.step()
        super().link(entry, first)

    def finish(self) -> tuple[str, ...]:
        self.life.step()
        return super().finish()


def copied(mount: Path, life: Life) -> World:
    filled_tree(mount / "in", 12)
    destination = MortalTree(mount, "out", "run-1", "n")
    destination.life = life
    source = PosixTree(mount, "in", "run-1", "s", "source")
    world = World(source=source, destination=destination, store=MortalStore(life))
    world.list_all(world.plan(REQUEST))
    world.copy_all()
    return world


def test_kills_in_the_middle_of_finishing_leave_nothing_unfinished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    divided(monkeypatch)
    chance = random.Random(20261123)
    kills = trees = 0
    where: set[str] = set()
    while kills < KILLS:
        trees += 1
        life = Life()
        mount = tmp_path / str(trees)
        world = copied(mount, life)

        def task(name: str, use_case: Callable[[Context], Any], world: World = world, life: Life = life) -> Any:
            nonlocal kills
            for _ in range(7):  # as often as the state machine tries
                life.left = chance.randrange(60)
                try:
                    return use_case(world.context())
                except Killed:
                    kills += 1
                    where.add(name)
                finally:
                    life.left = None
            return use_case(world.context())

        mapped = -1
        while not (answer := task("tree", lambda context, mapped=mapped: finish_tree(context, mapped=mapped)))["done"]:  # type: ignore[misc]
            for row in world.ledger.read_json(answer["key"].removeprefix(world.ledger.prefix)):
                shard = convert(row["shard"], FinishShard)
                while not task("shard", lambda context, shard=shard: finish_shard(shard, context))["done"]:  # type: ignore[misc]
                    pass
            mapped = answer["round"]
        assert world.end()["status"] == "SUCCEEDED"
        assert not difference(mount)
    assert where == {"tree", "shard"}
    assert trees > 1
