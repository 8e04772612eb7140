"""Whole runs of each mode with the real use cases, in moto's interpreter and by the walker: both end alike.

Moto's interpreter is LocalStack's, of an earlier release. The emulator of tests/e2e has a third one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped,unused-ignore]
import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.facts import tuning
from fanout.flow.steps import STEPS
from fanout.model.document import Json
from tests.support.flow import World
from tests.support.long import LONG
from tests.support.memory_store import MemoryStore
from tests.support.publishing import REQUEST as PUBLISH
from tests.support.publishing import PublishingWorld, rollback_to
from tests.support.two_mounts import REQUEST as BETWEEN_MOUNTS
from tests.support.two_mounts import TwoMounts

from .engine import Engine

WORK_BUCKET = "work"
WITHIN = {"source": "efs:///in", "destination": "efs:///out"}
PATHS = ("a", "d/b", "d/e/c")
EXTRA = "d/extra"
# By hand: what a run of the mode leaves at its ends, as the paths of the source and of the destination.
RUNS: dict[str, tuple[Json, tuple[str, ...], tuple[str, ...]]] = {
    "copy": ({}, PATHS, (*PATHS, EXTRA)),
    "copy, verified": ({"verify": "copied"}, PATHS, (*PATHS, EXTRA)),
    "copy, both ends verified": ({"verify": "all"}, PATHS, (*PATHS, EXTRA)),
    "sync": ({"mode": "sync", "delete_guard": {"max_percent": 100}}, PATHS, PATHS),
    "move": ({"mode": "move"}, (), (*PATHS, EXTRA)),
    "verify": ({"mode": "verify"}, PATHS, (EXTRA,)),
    "plan": ({"mode": "plan"}, PATHS, (EXTRA,)),
}


class OneStore(MemoryStore):
    """A store that every world of a test has; the interpreter reads the items of its Maps from moto's bucket."""

    def __init__(self) -> None:
        super().__init__()
        self._s3 = boto3.client("s3")
        self._s3.create_bucket(Bucket=WORK_BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})

    def put(self, key: str, data: bytes) -> None:
        super().put(key, data)
        self._s3.put_object(Bucket=WORK_BUCKET, Key=key, Body=data)


def in_moto(engine: Engine, world: World, request: Json) -> Json:
    """The summary of a run in moto's interpreter; its functions take turns, as a world has one clock."""
    world.store, turn = OneStore() if type(world.store) is MemoryStore else world.store, threading.Lock()

    def invoke(name: str, event: Json) -> Any:
        with turn:
            return world.task(name, event)

    for name in {step.function for step in STEPS.values()}:
        for side in ("", "Second"):
            engine.service.functions[side + name] = partial(invoke, side + name)
    result = engine.run(request, world.run_id)
    assert result.status in ("SUCCEEDED", "FAILED"), result
    return world.summary()


def by_walker(_engine: Engine, world: World, request: Json) -> Json:
    return world.run(request)


Runs = Callable[[Engine, World, Json], Json]
BOTH: Sequence[Runs] = (by_walker, in_moto)


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
        os.utime(root / path, ns=(10**18, 10**18))


def files(root: Path) -> tuple[str, ...]:
    return tuple(sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()))


def facts(summary: Json) -> Json:
    """What does not depend on time."""
    return {name: summary.get(name) for name in ("status", "mode", "totals", "verification", "balanced", "published")}


CASES = [*((name, False) for name in RUNS), ("copy", True), ("sync", True), ("move", True)]
ONE_A_MODE = [("copy, both ends verified", False), ("sync", True), ("move", False), ("verify", False), ("plan", False)]


@pytest.mark.parametrize(
    ("name", "short"), CASES if LONG else ONE_A_MODE, ids=lambda one: {True: "short", False: "ordinary"}.get(one, one)
)
def test_each_mode_ends_alike(
    name: str, short: bool, moto_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 2)
    options, left, there = RUNS[name]
    found = []
    for run in BOTH:
        base = tmp_path / run.__name__
        write(base / "in", *PATHS)
        write(base / "out", EXTRA)
        source = PosixTree(base, "in", "run-1", "s", "source")
        world = World(source=source, destination=PosixTree(base, "out", "run-1", "n"), short=short)
        found.append(facts(run(moto_engine, world, {**WITHIN, **options})))
        assert (files(base / "in"), files(base / "out")) == (left, there), run.__name__
    assert found[0] == found[1]
    assert found[0]["balanced"]


def test_a_publication_and_a_rollback_end_alike(moto_engine: Engine, tmp_path: Path) -> None:
    found = []
    for run in BOTH:
        base = tmp_path / run.__name__
        world = PublishingWorld(run_id="v1", mount=base, source=PosixTree(base, "in", "v1", "s", "source"))
        request = {**PUBLISH, "source": "efs:///in"}
        write(base / "in", *PATHS)
        first = run(moto_engine, world, request)
        write(base / "in", "later")
        second = run(moto_engine, world.following("v2"), request)
        assert files(base / "site/versions/v2") == (*PATHS, "later")
        back = run(moto_engine, world.following("back"), rollback_to("v1"))
        assert os.readlink(base / "site/current") == "versions/v1"
        found.append([facts(summary) for summary in (first, second, back)])
    assert found[0] == found[1]


@pytest.mark.parametrize("mode", ["copy", "sync", "move"] if LONG else ["move"])
def test_runs_between_two_mounts_end_alike(mode: str, moto_engine: Engine, tmp_path: Path) -> None:
    found = []
    for run in BOTH:
        mounts = TwoMounts(tmp_path / run.__name__)
        write(mounts.source_root, *PATHS)
        found.append(facts(run(moto_engine, mounts.world, {**BETWEEN_MOUNTS, "mode": mode})))
        assert (files(mounts.root), files(mounts.source_root)) == (PATHS, () if mode == "move" else PATHS)
    assert found[0] == found[1]
