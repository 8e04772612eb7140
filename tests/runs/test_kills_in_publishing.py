"""Functions of runs that publish are killed at random moments: the link always names a whole version."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.directory_store import DirectoryStore
from fanout.adapters.posix.tree import PosixTree
from fanout.facts.mounts import CACHED_SECONDS
from fanout.model.document import Json
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from tests.runs.test_kills import RealClock
from tests.support.long import LONG
from tests.support.publishing import PublishingWorld, held

KILLS = 300 if LONG else 120
REQUEST = {
    "source": "efs:///in",
    "destination": "efs:///site",
    "publish": {"link": "current", "keep": 2, "keep_hours": 0},
    "limits": {"shard_seconds": 0.1},
}


class MinutesLater(RealClock):
    """So many minutes later, and more: no reader can follow the link as it was before the last run."""

    def __init__(self, minutes: int) -> None:
        super().__init__()
        self._minutes = minutes
        self.time = self.now()

    def now(self) -> float:
        return super().now() + self._minutes * (CACHED_SECONDS + 1)


def change(root: Path, chance: random.Random, number: int) -> dict[str, str]:
    """Some files new, some changed, some gone; what the source holds then."""
    for path in sorted(root.rglob("*.txt")):
        if chance.random() < 0.1:
            path.unlink()
    for name in range(12):
        path = root / f"d{chance.randrange(5)}/e{chance.randrange(3)}/{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"version {number} of {name}" * chance.randrange(1, 50))
    return held(root)


def tasks_of(world: PublishingWorld, state: Json) -> list[Callable[[PublishingWorld], object]]:
    """What follows PlanTransfer, task by task."""
    return [
        lambda attempt: check_mount(attempt.context()),
        lambda attempt: attempt.list_all(state),
        lambda attempt: attempt.copy_all(),
        lambda attempt: attempt.finish_all(deletes=True),
        lambda attempt: attempt.switch(),
        lambda attempt: attempt.end(),
    ]


def in_a_process(task: Callable[[PublishingWorld], object], world: PublishingWorld, nonce: str) -> int:
    """An attempt at a task in a process of its own; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        source = PosixTree(world.mount, "in", world.run_id, nonce, "source")
        nonces = (f"{nonce}x{number}" for number in range(10_000))
        task(dataclasses.replace(world, source=source, nonces=nonces))
        status = 0
    finally:
        os._exit(status)


def test_kills_at_random_moments_never_leave_the_link_on_a_version_that_is_not_whole(tmp_path: Path) -> None:
    chance = random.Random(20261124)
    (tmp_path / "in").mkdir()
    world = PublishingWorld(
        mount=tmp_path,
        source=PosixTree(tmp_path, "in", "run-0", "s", "source"),
        store=DirectoryStore(tmp_path / "ledger"),
        clock=RealClock(),
    )
    expected: dict[str, dict[str, str]] = {}
    kills = attempts = number = 0
    while kills < KILLS:
        number += 1
        run = dataclasses.replace(world, run_id=f"run-{number}", clock=MinutesLater(number))
        expected[f"run-{number}"] = change(tmp_path / "in", chance, number)
        state = plan_transfer(REQUEST, run.context(), ("data",), 10, "work")
        for task in tasks_of(run, state):
            done, killed_here = False, 0
            while not done:
                attempts += 1
                pid = in_a_process(task, run, f"a{attempts}")
                if kills < KILLS and killed_here < 12:
                    time.sleep(chance.uniform(0.0, 0.02))
                    os.kill(pid, signal.SIGKILL)
                _, status = os.waitpid(pid, 0)
                kills += os.WIFSIGNALED(status)
                killed_here += os.WIFSIGNALED(status)
                done = os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
                assert done or os.WIFSIGNALED(status), (task, status)
                if (tmp_path / "site/current").is_symlink():
                    version = os.readlink(tmp_path / "site/current").removeprefix("versions/")
                    assert held(tmp_path / "site/versions" / version) == expected[version]
        summary = run.ledger.read_json("summary.json")
        assert (summary["status"], summary["balanced"]) == ("SUCCEEDED", True), summary
        assert os.readlink(tmp_path / "site/current") == f"versions/run-{number}"
    versions = [name for name in os.listdir(tmp_path / "site/versions") if not name.startswith(".")]
    assert sorted(versions) == sorted([f"run-{number - 1}", f"run-{number}"])
    assert not [name for name in os.listdir(tmp_path / "site/versions") if name.startswith((".fanout", ".removed"))]
