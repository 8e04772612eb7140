"""mode: plan: what a copy and a sync would do, and nothing is done."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from fanout.facts import tuning
from fanout.model.entry import Kind
from fanout.summary import planned
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.mounts import world_of

PLAN = {"source": "efs:///in", "destination": "efs:///out", "mode": "plan"}


def fill(mount: Path) -> None:
    for path in ("in/same", "in/d/new", "in/changed", "in/linked", "out/same", "out/changed", "out/old/extra"):
        (mount / path).parent.mkdir(parents=True, exist_ok=True)
        (mount / path).write_text("1234" if path == "in/changed" else "123")
    (mount / "in/big").write_bytes(b"x" * (tuning.BLOCK_BYTES + 1))
    (mount / "in/unfit").symlink_to("d")
    os.link(mount / "in/linked", mount / "in/linked-too")
    os.utime(mount / "out/same", ns=(1, (mount / "in/same").stat().st_mtime_ns))


def snapshot(root: Path) -> dict[str, tuple[int, ...]]:
    """Everything below a directory, with its times and inode."""
    found: dict[str, tuple[int, ...]] = {}
    for path in [root, *root.rglob("*")]:
        seen = path.lstat()
        found[str(path)] = (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, seen.st_nlink)
    return found


def rows(world: World) -> list[tuple[str, str]]:
    return sorted((row["action"], row["path"]) for row in world.ledger.read_rows("planned.jsonl"))


@pytest.fixture
def mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**15))  # all is written within a second here
    fill(tmp_path)
    return tmp_path


def test_both_trees_are_what_they_were_to_the_nanosecond(mount: Path) -> None:
    before = snapshot(mount)
    world = world_of(mount)
    summary = world.run({**PLAN, "limits": {"split_bytes": tuning.BLOCK_BYTES}})
    assert snapshot(mount) == before
    assert summary["status"] == "SUCCEEDED", summary
    assert summary["balanced"]
    assert set(world.ledger.keys("big-files/")) == set()


def test_it_says_what_a_copy_and_a_sync_do(mount: Path) -> None:
    world = world_of(mount)
    summary = world.run(PLAN)
    assert rows(world) == [
        *[("copy", path) for path in ("big", "changed", "d/", "d/new", "linked", "unfit")],
        *[("delete", path) for path in ("old/", "old/extra")],
        ("link", "linked-too"),
    ]
    plan = summary["planned"]
    assert plan["to_copy"]["entries"] == 7
    assert plan["to_delete"]["entries"] == 2
    assert "50.0 %" in plan["delete_refused"]
    assert plan["predicted_seconds"] > 0
    assert summary["forecast"]["predicted_seconds"]["delete"] > 11
    assert summary["totals"]["unchanged"]["entries"] == 1
    sync = {**PLAN, "mode": "sync", "delete_guard": {"max_percent": 60.0}}
    assert world_of(mount, "run-1b").run({**sync, "mode": "plan"})["planned"]["delete_refused"] is None
    done = world_of(mount, "run-2").run(sync)
    assert done["status"] == "SUCCEEDED", done
    assert done["totals"]["copied"] == plan["to_copy"]
    assert done["totals"]["deleted"] == plan["to_delete"]
    counted = [summary["forecast"]["actual_dollars"]["step_functions"] for summary in (summary, done)]
    assert counted[1] > counted[0]
    again = world_of(mount, "run-3").run(PLAN)
    assert again["planned"]["to_copy"]["entries"] == again["planned"]["to_delete"]["entries"] == 0
    assert "delete" not in again["forecast"]["predicted_seconds"]
    assert again["totals"]["unchanged"] == again["totals"]["listed"]


def test_a_destination_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_text("x")
    summary = world_of(tmp_path).run(PLAN)
    assert summary["planned"]["to_copy"]["entries"] == 1
    assert not (tmp_path / "out").exists()


def test_what_would_fail_does_not_look_green() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a//b", Kind.FILE, b"x")
    world.source.put("fine", Kind.FILE, b"x")
    summary = world.run({"source": "s3://a-bucket/", "destination": "efs:///copy", "mode": "plan"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert summary["planned"]["to_copy"]["entries"] == 1
    assert summary["totals"]["rejected"]["entries"] == 1


def test_with_escaped_names_it_does_not_guess_what_is_extra() -> None:
    request = {"source": "s3://a-bucket/", "destination": "efs:///copy", "mode": "plan", "on_conflict": "escape"}
    world = World()
    assert isinstance(world.destination, MemoryTree)
    world.destination.put("x", Kind.FILE)
    assert world.run(request)["planned"]["to_delete"] is None


@pytest.mark.parametrize("count", [0, 3, 4, 9])
def test_a_large_plan_stands_in_compressed_files(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(planned, "ROWS_PER_FILE", 3)
    world = World()
    assert isinstance(world.source, MemoryTree) and isinstance(world.store, MemoryStore)
    for number in range(count):
        world.source.put(f"f{number}", Kind.FILE, b"x")
    world.run({"source": "s3://a-bucket/", "destination": "efs:///copy", "mode": "plan"})
    found: list[Any] = []
    for key in world.ledger.keys("planned"):
        data = world.store.get(world.ledger.prefix + key)
        assert key.endswith(".gz") == (count > 3)
        found += [json.loads(line) for line in (gzip.decompress(data) if key.endswith(".gz") else data).splitlines()]
    assert sorted(row["path"] for row in found) == [f"f{number}" for number in range(count)]


@pytest.mark.parametrize("verify", ["copied", "content", "all"])
def test_a_plan_verifies_nothing(verify: str) -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"a")
    summary = world.run({"source": "s3://a-bucket/in/", "destination": "efs:///copy", "mode": "plan", "verify": verify})
    assert (summary["status"], summary["verification"]) == ("SUCCEEDED", None)
