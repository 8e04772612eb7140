"""Rows of a manifest that the source did not hold, in a run that resumes: looked for again, and nothing below them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from tests.support.flow import World

REQUEST: Json = {"source": "efs:///in", "destination": "s3://a-bucket/out/", "manifest": "s3://lists/list.csv"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three rows; of ``gone`` the source holds no file, and ``d`` is a directory there."""
    (tmp_path / "in/d/e").mkdir(parents=True)
    (tmp_path / "in/d/e/unnamed").write_bytes(b"no row names it")
    (tmp_path / "in/here").write_bytes(b"here")
    world = World(source=PosixTree(tmp_path, "in", "run-1", "n"))
    world.objects.put("lists", "list.csv", b"path\nd\nd/e\ngone\nhere\n")
    return world


def failed(world: World) -> dict[str, Any]:
    return {row["path"]: row["reason"] for row in world.ledger.read_rows("failures.jsonl")}


def resumed(world: World) -> tuple[World, Json]:
    following = world.next_run("run-2")
    return following, following.run({"resume_from": "run-1"})


def test_what_is_still_missing_fails_again_and_nothing_below_it_is_copied(world: World) -> None:
    first = world.run(REQUEST)
    assert (first["status"], len(failed(world))) == ("FAILED_WITH_ITEMS", 3)
    following, second = resumed(world)
    assert (second["status"], second["balanced"]) == ("FAILED_WITH_ITEMS", True)
    assert failed(following) == failed(world)
    counts = {name: second["totals"][name]["entries"] for name in ("listed", "copied", "failed")}
    assert counts == {"listed": 4, "copied": 0, "failed": 3}


def test_what_came_meanwhile_is_copied(world: World, tmp_path: Path) -> None:
    world.run(REQUEST)
    (tmp_path / "in/gone").write_bytes(b"back")
    following, second = resumed(world)
    assert sorted(failed(following)) == ["d", "d/e"]
    assert second["totals"]["copied"]["entries"] == 1
