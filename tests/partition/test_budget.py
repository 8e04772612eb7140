"""PartitionShards holds the forecast against ``limits.max_dollars``."""

from __future__ import annotations

import pytest

from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import BudgetRefused
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import World

REQUEST: Json = {"source": "s3://a-bucket/in/", "destination": "efs:///copy", "prices": {"s3_get": 1.0}}


def listed(most: float, mode: str = "copy") -> World:
    """Three objects at a dollar a GetObject: some tens of dollars, with those that the ledger takes."""
    world = World()
    for number in range(3):
        world.source.put(f"{number}", Kind.FILE, b"x")  # type: ignore[attr-defined]
    world.list_all(world.plan({**REQUEST, "mode": mode, "limits": {"max_dollars": most}}))
    return world


def test_a_forecast_over_it_is_refused_before_anything_is_copied() -> None:
    world = listed(10.0)
    with pytest.raises(BudgetRefused, match=r"limits\.max_dollars"):
        partition_shards(world.context())


def test_a_forecast_within_it_is_not() -> None:
    assert partition_shards(listed(100.0).context())["count"] == 1


def test_a_plan_notes_it() -> None:
    world = listed(10.0, "plan")
    partition_shards(world.context())
    [note] = world.ledger.read_json(keys.note_key("budget"))["notes"]
    assert note.startswith("a copy or a sync would be refused: limits.max_dollars")
