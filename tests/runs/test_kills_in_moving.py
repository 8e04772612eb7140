"""Functions of a move that are killed at random moments while they compare and delete: no byte is ever lost."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec import convert

from benchmarks.directory_store import DirectoryStore
from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.verifying.begin_verification import begin_verification
from fanout.verifying.verify_shard import verify_shard
from tests.support.flow import World
from tests.support.long import LONG
from tests.support.mounts import world_of
from tests.support.moves import MOVE, held, names

KILLS, FILES = (60, 300) if LONG else (20, 120)
Task = Callable[[World], Json]


def filled(root: Path) -> dict[str, bytes]:
    contents = {f"d{number % 7}/e{number % 3}/f{number}": os.urandom(number * 5 % 9_000) for number in range(FILES)}
    for path, data in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    for number in range(0, FILES, 50):
        os.link(root / f"d{number % 7}/e{number % 3}/f{number}", root / f"d0/name{number}")
        contents[f"d0/name{number}"] = contents[f"d{number % 7}/e{number % 3}/f{number}"]
    return contents


class Killer:
    """Runs tasks in processes of their own, and kills the first ``KILLS`` of them after a random time."""

    def __init__(self, mount: Path) -> None:
        self._mount, self._chance = mount, random.Random(20261124)
        self.kills = self.attempts = 0

    def done(self, world: World, task: Task, longest: float) -> bool:
        """Whether an attempt at a task came to its end, and the task is done."""
        self.attempts += 1
        assert self.attempts < 20 * KILLS
        pid = os.fork()
        if not pid:
            status = 1
            try:
                nonce = f"a{self.attempts}"
                world.source = PosixTree(self._mount, "in", "run-1", nonce, "source")
                world.destination = PosixTree(self._mount, "out", "run-1", nonce)
                world.nonces = iter([nonce])
                status = 0 if task(world).get("done", True) else 1
            finally:
                os._exit(status)
        if self.kills < KILLS:
            time.sleep(self._chance.uniform(0.0, longest))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        self.kills += os.WIFSIGNALED(status)
        return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def test_kills_while_it_compares_and_deletes_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 10)
    contents = filled(tmp_path / "in")
    world = dataclasses.replace(world_of(tmp_path), store=DirectoryStore(tmp_path / "ledger"))
    world.clock.time = time.time()
    world.list_all(world.plan({**MOVE, "limits": {"shard_seconds": 0.1}}))
    world.copy_all()
    world.finish_all()
    begun = begin_verification(world.context(), "work")
    inner = dataclasses.replace(world, prefix=begun["run"]["prefix"])
    inner.list_all(begun)
    partition_shards(inner.context())
    killer = Killer(tmp_path)

    def each(key: str, task: Callable[[Shard, World], Json]) -> None:
        left = [convert(row["shard"], Shard) for row in inner.ledger.read_json(key)]
        assert left
        while left:
            shard = left.pop(0)
            if not killer.done(inner, partial(task, shard), 0.02):
                left.append(shard)
            assert held(tmp_path / "out") == contents
            assert held(tmp_path / "in").items() <= contents.items()

    each("shards.json", lambda shard, one: verify_shard(shard, one.context()))
    while not killer.done(inner, lambda one: begin_deletion(one.context()), 0.1):
        pass
    each("deletions.json", lambda shard, one: delete_shard(shard, one.context()))
    while not killer.done(inner, lambda one: remove_directories(one.context()), 0.1):
        pass
    assert killer.kills >= KILLS // 3
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["totals"]["deleted"]["entries"] == summary["totals"]["listed"]["entries"]
    assert (names(tmp_path / "in"), held(tmp_path / "out")) == (set(), contents)
