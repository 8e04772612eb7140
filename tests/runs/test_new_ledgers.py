"""A run begins with a ledger of its own."""

from __future__ import annotations

import pytest

from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest
from tests.support.flow import World
from tests.support.memory import MemoryTree


def filled() -> World:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("d/f", Kind.FILE, b"x")
    return world


def test_a_run_whose_name_was_used_before_is_refused() -> None:
    world = filled()
    assert world.run()["status"] == "SUCCEEDED"
    with pytest.raises(InvalidRequest, match=r"^run_id: runs/run-1/ holds the ledger of an earlier run"):
        world.plan()


def test_a_plan_that_is_made_again_writes_over_its_own() -> None:
    world = filled()
    state = world.plan()
    for key in list(world.ledger.keys("")):
        if key not in ("request.json", "plan.json", "phases/plan.json", "segments/round-0001.json"):
            del world.store._objects["runs/run-1/" + key]  # type: ignore[attr-defined]  # what CheckMount wrote
    assert world.plan() == state
