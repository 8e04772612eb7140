"""PlanTransfer runs twice, also at the same time: the plan that was written first is the run's."""

from __future__ import annotations

import pytest

from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import LedgerBroken
from fanout.planning.plan_transfer import plan_transfer
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree


def planned(world: World, request: Json = REQUEST) -> Json:
    return plan_transfer(request, world.context(), ("data",), 10, "work", execution=world.execution)


def test_a_second_attempt_goes_on_with_the_plan_of_the_first() -> None:
    world = World()
    first = planned(world)
    written = world.ledger.read_bytes("plan.json")
    world.clock.time += 60
    assert planned(world)["run"] == first["run"]
    assert world.ledger.read_bytes("plan.json") == written


def test_a_plan_for_another_request_is_named_and_stays() -> None:
    world = World()
    planned(world)
    written = world.ledger.read_bytes("plan.json")
    with pytest.raises(LedgerBroken, match=r"request\.json was written by somebody else"):
        planned(world, REQUEST | {"compare": "checksum"})
    assert world.ledger.read_bytes("plan.json") == written


def test_a_summary_is_written_once() -> None:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"a")
    world.run()
    written = world.ledger.read_bytes("summary.json")
    world.clock.time += 60
    assert summarise_transfer(None, world.context())["status"] == "SUCCEEDED"
    assert world.ledger.read_bytes("summary.json") == written
