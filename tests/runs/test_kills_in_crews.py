"""Processes of a function that are killed at random moments, the first child among them: nothing is lost."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from benchmarks.directory_store import DirectoryStore
from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.errors import Transient
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.runtime.bootstrap import prepare_processes
from fanout.work.processes.crew import Crew
from tests.runs.test_kills import RealClock, filled
from tests.support.crew import processes_of
from tests.support.flow import World
from tests.support.mounts import world_of

ATTEMPTS = 24
REQUEST = {"source": "efs:///in", "destination": "efs:///out", "verify": "copied", "limits": {"shard_seconds": 0.3}}


class Killer:
    """Kills one of a crew's processes, or its first child, after some time, once."""

    def __init__(self, crew: Crew, chance: random.Random) -> None:
        self._crew, self.kills = crew, 0
        self._takes_first, self._after = chance.random() < 0.2, chance.uniform(0.0, 0.15)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._kill)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _kill(self) -> None:
        self._ended.wait(self._after)
        while not self._ended.is_set() and not self.kills:
            with suppress(OSError):
                victims = [self._crew.first_child] if self._takes_first else processes_of(self._crew)
                for one in victims[:1]:
                    os.kill(one, signal.SIGKILL)
                    self.kills += 1
            time.sleep(0.001)


def attempt(world: World, task: Callable[[], Any], mount: Path, nonce: str, chance: random.Random | None) -> int:
    """One attempt at a task of a function, in which one is killed; the kills, below zero where the task failed."""
    world.source = PosixTree(mount, "in", "run-1", nonce, "source")
    world.destination = PosixTree(mount, "out", "run-1", nonce)
    world.nonces = (f"{nonce}x{number}" for number in itertools.count())
    with closing(Crew(prepare_processes)) as world.crew:
        if chance is None:
            task()
            return 0
        with Killer(world.crew, chance) as killer:
            try:
                task()
            except Transient as error:
                assert "process" in str(error), error
                return -1
        return killer.kills


def copied(world: World, shard: Shard) -> None:
    """CopyShard, once."""
    copy_shard(shard, world.context())


def test_a_task_whose_processes_are_killed_is_done_again_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "CHECKPOINT_SECONDS", 0.02)
    contents = filled(tmp_path / "in")
    world = world_of(tmp_path)
    world.store, world.clock, world.forks = DirectoryStore(tmp_path / "ledger"), RealClock(), True
    world.clock.time = time.time()
    chance = random.Random(20261128)
    state = world.plan(REQUEST)
    while attempt(world, partial(world.list_all, state), tmp_path, "list", chance) < 0:
        continue
    partition_shards(world.context())
    shards = [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
    failed = 0
    for number in range(ATTEMPTS):
        shard = shards[number % len(shards)]
        failed += attempt(world, partial(copied, world, shard), tmp_path, f"a{number}", chance) < 0
    assert failed > 2
    for number, shard in enumerate(shards):
        attempt(world, partial(copied, world, shard), tmp_path, f"b{number}", None)
    finish_tree(world.context())
    summary = world.end("copied")
    assert summary["status"] == "SUCCEEDED" and summary["balanced"], summary
    out = tmp_path / "out"
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert found == contents
