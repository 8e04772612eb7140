"""``limits.max_seconds`` of a move: each run of a chain of retries goes on where the one before it stopped."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fanout.facts import tuning
from fanout.model.document import Json
from fanout.model.errors import OutOfTime
from fanout.ports.limiter import NoLimits
from fanout.shards.record import all_records
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import ManualClock, World
from tests.support.mounts import world_of
from tests.support.moves import MOVE, held, names, reasons

FILES_PER_SECOND = 2


class Rate(NoLimits):
    """Lets so many files a second begin; waiting moves the clock."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock, self._free_at = clock, clock.time

    def ask_to_begin(self, files: int, size: int) -> float:
        wait = self._free_at - self._clock.time
        if wait > 0:
            return wait
        self._free_at = self._clock.time + files / FILES_PER_SECOND
        return 0.0

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)


class Closed(NoLimits):
    """Lets nothing begin; waiting moves the clock."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def ask_to_begin(self, files: int, size: int) -> float:
        return 1.0

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def cut_off(self, size: int) -> bool:
        return True

    def holds(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def one_operation_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "CLIENT_OPERATIONS_IN_FLIGHT", 1)


def moving(mount: Path) -> tuple[World, dict[str, bytes]]:
    """Twenty files, two names of a file, a symlink and four directories, before a move at two files a second."""
    root = mount / "in"
    contents = {f"d{number % 4}/f{number:02d}": bytes([number]) * (number + 1) for number in range(20)}
    for path, data in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    os.link(root / "d0/f00", root / "d1/name")
    (root / "d2/link").symlink_to("nowhere")
    world = world_of(mount)
    world.limiter = Rate(world.clock)
    return world, contents | {"d1/name": contents["d0/f00"]}


def ended(world: World, max_seconds: float, resumes: str = "") -> Json:
    """The summary of a run, which may stop at its limit."""
    request: Json = {**MOVE, "limits": {"max_seconds": max_seconds, "files_per_second": FILES_PER_SECOND}}
    if resumes:
        request["resume_from"] = resumes
    try:
        return world.run(request)
    except OutOfTime as error:
        caught = {"Error": "OutOfTime", "Cause": json.dumps({"errorMessage": str(error)})}
        summarise_transfer(caught, world.context())
    summary: Json = world.ledger.read_json("summary.json")
    return summary


def another(world: World, mount: Path, run_id: str) -> World:
    """The next run, with the same ledgers and clock."""
    return dataclasses.replace(
        world_of(mount, run_id), store=world.store, clock=world.clock, limiter=world.limiter, nonces=world.nonces
    )


def chain(world: World, mount: Path, max_seconds: float, runs: int = 30) -> tuple[Json, int]:
    """Retry of retry until a run does not end at its limit; the last summary, and the number of runs."""
    summary = ended(world, max_seconds)
    for number in range(2, runs):
        if (summary["error"] or {}).get("name") != "OutOfTime":
            return summary, number - 1
        assert "got no further" not in message(summary)
        before = world.run_id
        world = another(world, mount, f"run-{number}")
        summary = ended(world, max_seconds, before)
    return summary, runs


@pytest.mark.parametrize("max_seconds", [8, 5, 20])
def test_a_chain_of_retries_moves_everything(tmp_path: Path, max_seconds: float) -> None:
    world, contents = moving(tmp_path)
    summary, runs = chain(world, tmp_path, max_seconds)
    assert summary["status"] == "SUCCEEDED", (runs, summary["error"])
    assert runs > 1
    assert names(tmp_path / "in") == set()
    assert held(tmp_path / "out") == contents


def message(summary: Json) -> str:
    """What the summary of a stopped run says."""
    assert summary["error"]["name"] == "OutOfTime", summary
    said: str = summary["error"]["message"]
    return said


def test_a_run_that_got_further_says_that_a_retry_goes_on(tmp_path: Path) -> None:
    world, _ = moving(tmp_path)
    stops = "limits.max_seconds: the run stops after 8 s; start the request again with resume_from "
    assert message(ended(world, 8)) == f"{stops}run-1"
    assert message(ended(another(world, tmp_path, "run-2"), 8, "run-1")) == f"{stops}run-2"


def test_a_run_that_got_no_further_asks_for_more_time(tmp_path: Path) -> None:
    world = stopped_while_it_compares(tmp_path)
    late = another(world, tmp_path, "run-2")
    late.limiter = Closed(world.clock)
    said = message(ended(late, 8, "run-1"))
    assert said.endswith(
        "got no further with it: start the request again with resume_from run-2 and a higher limits.max_seconds"
    )
    last = another(late, tmp_path, "run-3")
    last.limiter = Rate(world.clock)
    assert ended(last, 1000, "run-2")["status"] == "SUCCEEDED"


def stopped_while_it_compares(mount: Path) -> World:
    """A move that copied all, proved some and deleted nothing; the run that stopped there."""
    world, _ = moving(mount)
    summary = ended(world, 20)
    assert summary["error"]["name"] == "OutOfTime"
    assert summary["totals"]["deleted"]["entries"] == 0
    assert any(one.proven for one in all_records(world.ledger.verification()))
    return world


def in_place(path: Path) -> None:
    """Other bytes with the size and mtime that they had."""
    before = path.stat()
    path.write_bytes(b"!" * before.st_size)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def proven_paths(world: World) -> list[str]:
    ledger = world.ledger.verification()
    keys = [key for key in ledger.keys("deletions/") if key.endswith(".jsonl.gz")]
    return [row[0] for key in keys for row in ledger.read_rows(key) if row[1] == "file" and row[0] != "d0/f00"]


@pytest.mark.parametrize(("end", "reason"), [("in", "checksum differs"), ("out", "checksum differs")])
def test_what_changed_after_it_was_proven_is_compared_anew(tmp_path: Path, end: str, reason: str) -> None:
    world = stopped_while_it_compares(tmp_path)
    changed = next(path for path in proven_paths(world) if "name" not in path)
    in_place(tmp_path / end / changed)
    there = (tmp_path / "in" / changed).read_bytes()
    last = another(world, tmp_path, "run-2")
    summary = ended(last, 1000, "run-1")
    assert summary["status"] == "FAILED_WITH_ITEMS", summary
    assert reasons(last)[changed] == reason
    assert held(tmp_path / "in") == {changed: there}


def test_a_proof_is_worth_what_its_comparison_compared(tmp_path: Path) -> None:
    """Attributes count again where the earlier run compared content alone."""
    world, _ = moving(tmp_path)
    request = {**MOVE, "verify": "content", "limits": {"max_seconds": 20, "files_per_second": FILES_PER_SECOND}}
    with pytest.raises(OutOfTime):
        world.run(request)
    opened: Callable[[str], Path] = lambda path: tmp_path / "out" / path  # noqa: E731
    paths = proven_paths(world)
    assert paths
    last = another(world, tmp_path, "run-2")
    opened(paths[0]).chmod(0o600)
    last.limiter = NoLimits()
    summary = last.run({**MOVE, "verify": "all", "resume_from": "run-1", "limits": {"max_seconds": 1000}})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert reasons(last)[paths[0]] == "mode differs"
