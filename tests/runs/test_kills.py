"""Workers that are killed at random moments: the destination is equal to the source all the same."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from msgspec import convert

from benchmarks.directory_store import DirectoryStore
from fanout.adapters.posix.tree import PosixTree
from fanout.copying.copy_shard import copy_shard
from fanout.facts import tuning
from fanout.finishing.finish_tree import finish_tree
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.runtime.bootstrap import prepare_processes
from fanout.work.processes.crew import Crew
from tests.support.flow import ManualClock, World
from tests.support.long import LONG

KILLS = 200 if LONG else 60
REQUEST = {
    "source": "efs:///in",
    "destination": "efs:///out",
    "verify": "copied",
    "limits": {"shard_seconds": 0.1, "split_bytes": tuning.BLOCK_BYTES},
}


class RealClock(ManualClock):
    """The machine's clock, because the workers are processes of their own."""

    def now(self) -> float:
        return time.time()


def filled(root: Path) -> dict[str, bytes]:
    contents = {f"d{number % 7}/e{number % 3}/f{number}": os.urandom(number * 7 % 40_000) for number in range(900)}
    contents |= {f"big{number}": os.urandom(3 * tuning.BLOCK_BYTES + number) for number in range(2)}
    for path, data in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return contents


def attempt(world: World, shard: Shard, mount: Path, nonce: str, *, shares_out: bool) -> int:
    """A worker in a process of its own, with others if it ``shares_out``; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        world.source = PosixTree(mount, "in", "run-1", nonce, "source")
        world.destination = PosixTree(mount, "out", "run-1", nonce)
        world.nonces = iter([nonce])
        world.forks, world.crew = shares_out, Crew(prepare_processes) if shares_out else None
        status = 0 if copy_shard(shard, world.context())["done"] else 1
    finally:
        os._exit(status)


def test_kills_at_random_moments_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "CHECKPOINT_SECONDS", 0.02)
    contents = filled(tmp_path / "in")
    world = World(
        source=PosixTree(tmp_path, "in", "run-1", "s", "source"),
        destination=PosixTree(tmp_path, "out", "run-1", "d"),
        store=DirectoryStore(tmp_path / "ledger"),
        clock=RealClock(),
    )
    world.clock.time = time.time()
    world.list_all(world.plan(REQUEST))
    partition_shards(world.context())
    shards = [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
    assert len(shards) > 5
    chance = random.Random(20261121)
    kills = attempts = 0
    finished: set[str] = set()
    while kills < KILLS or len(finished) < len(shards):
        shard = shards[attempts % len(shards)]
        attempts += 1
        pid = attempt(world, shard, tmp_path, f"a{attempts}", shares_out=attempts % 2 == 0)
        if kills < KILLS:
            time.sleep(chance.uniform(0.0, 0.04))
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        kills += os.WIFSIGNALED(status)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            finished.add(shard.id)
        assert attempts < 20 * KILLS
    finish_tree(world.context())
    summary = world.end("copied")
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["balanced"]
    out = tmp_path / "out"
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert found == contents
    assert not list(out.glob(".fanout*"))
