"""A plan is of its execution and of its request: what somebody reaches who may only invoke PlanTransfer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import json as encoding
from msgspec.structs import fields, replace

from fanout.ledger import keys
from fanout.ledger.documents import RawRequest
from fanout.ledger.sealing import digest_of, read_seal, write_seal
from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from fanout.model.errors import InvalidRequest, LedgerBroken, NotFound, Transient
from fanout.model.file_system import Behind
from fanout.model.shard import Rates
from fanout.ports.aws import Execution
from fanout.request.asked import MEASURED, is_plan_of, is_same_plan
from fanout.request.plan import Origin, Plan
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.turns.write_turn import WriteTurns
from tests.support.definitions import definition
from tests.support.flow import REQUEST, OwnExecution, World
from tests.support.memory import MemoryTree
from tests.support.memory_store import MemoryStore
from tests.support.signing import LocalSigner

OTHER: Json = REQUEST | {"source": "s3://a-bucket/evil/"}


def planned(world: World, request: Json = REQUEST) -> Json:
    """What the function answers to the event of its state."""
    offered = definition()["States"]["PlanTransfer"]["Parameters"]["Payload"]["functions"]
    about = {"run_id": world.run_id, "execution": world.execution, "functions": offered}
    answer: Json = world.task("PlanTransfer", {"step": "PlanTransfer", "request": request, **about})
    return answer


class NoSuchExecution(OwnExecution):
    """Step Functions does not know it."""

    def find(self, execution: str) -> Execution:
        raise NotFound(execution)


STRANGERS: dict[str, tuple[OwnExecution, type[Exception]]] = {
    "none of this name": (NoSuchExecution("run-1"), Transient),
    "it has ended": (OwnExecution("run-1", runs=False), InvalidRequest),
    "another's name": (OwnExecution("run-2"), InvalidRequest),
    "another state machine": (OwnExecution("run-1", machine="arn:aws:states:::stateMachine:theirs"), InvalidRequest),
    "another request": (OwnExecution("run-1", input=OTHER), InvalidRequest),
    "a part of the request": (OwnExecution("run-1", input={"source": REQUEST["source"]}), InvalidRequest),
    "an input that may not be read": (OwnExecution("run-1", input=None), InvalidRequest),
}


@pytest.mark.parametrize(("own", "error"), STRANGERS.values(), ids=STRANGERS)
def test_nothing_is_written_for_what_is_not_the_run_s_execution(own: OwnExecution, error: type[Exception]) -> None:
    store = MemoryStore()
    world = World(own_execution=own, store=store)
    world.turns = WriteTurns(store, own, world.clock)
    before = set(world.store.list(""))
    with pytest.raises(error, match="execution"):
        planned(world)
    assert set(world.store.list("")) == before, "neither a ledger nor a lock"


def test_a_victim_s_execution_does_not_take_the_plan_of_another_request() -> None:
    world = World(own_execution=OwnExecution("run-1", input=REQUEST))
    for request in (OTHER, OTHER | {"mode": "sync"}):
        with pytest.raises(InvalidRequest, match="was started with another request"):
            planned(world, request)
    planned(world)
    assert world.ledger.read_plan().request.source.place == "tree/"


def test_a_plan_that_is_there_without_its_request_does_not_count() -> None:
    """Whoever wrote it: an earlier attempt of the task leaves an equal one."""
    world, evil = World(), World()
    planned(evil, OTHER)
    plan = evil.ledger.read_bytes("plan.json")
    world.ledger.write_bytes("plan.json", plan)
    with pytest.raises(LedgerBroken, match=r"plan\.json was written by somebody else"):
        planned(world)
    assert world.ledger.read_bytes("plan.json") == plan


def test_a_request_that_is_there_is_not_replaced() -> None:
    world = World()
    world.ledger.write(keys.REQUEST, RawRequest(OTHER))
    with pytest.raises(LedgerBroken, match=r"request\.json was written by somebody else"):
        planned(world)
    assert world.ledger.read(keys.REQUEST).request == OTHER
    assert not world.ledger.has("plan.json")


# Another value for each field of a plan.
CHANGED: dict[str, Any] = {
    "run_id": "run-2",
    "rates": Rates(1.0, 1.0),
    "resumes": ("run-0",),
    "creations_per_second": 7.0,
    "quota": 3,
    "began": 5.0,
    "origin": Origin("another"),
    "move_began": 5.0,
    "behind": {"data": Behind("b-bucket", "")},
    "asked": 5.0,
    "regions": {"a-bucket": "eu-west-3"},
}


def made(request: Json = REQUEST) -> Plan:
    world = World()
    planned(world, request)
    return world.ledger.read_plan()


def test_an_attempt_s_plan_differs_from_another_s_in_what_it_measures_alone() -> None:
    plan = made()
    assert CHANGED.keys() | {"request"} == {one.name for one in fields(Plan)}
    same = {name for name, value in CHANGED.items() if is_same_plan(replace(plan, **{name: value}), plan)}
    assert same == {*MEASURED} - {"move_began"}, "a move has begun, and no other run has"
    moving = replace(plan, move_began=1.0)
    assert is_same_plan(moving, replace(plan, move_began=2.0))


@pytest.mark.parametrize(
    "more",
    [
        {"source": "s3://a-bucket/evil/"},
        {"destination": "efs:///elsewhere"},
        {"mode": "sync"},
        {"exclude": ["*"]},
        {"newer_than": "2d"},
        {"limits": {"shard_seconds": 1.0}},
        {"source_bucket": {"requester_pays": True}},
        {"overwrite": "never"},
        {"attributes": {"uid": 0}},
    ],
    ids=str,
)
def test_no_plan_is_of_another_request(more: Json) -> None:
    plan, other = made(REQUEST | {"newer_than": "1d"}), made(REQUEST | {"newer_than": "1d"} | more)
    assert not is_same_plan(other, plan) and not is_same_plan(plan, other)
    assert not is_plan_of(plan, REQUEST | {"newer_than": "1d"} | more, ("data",))
    assert is_plan_of(plan, REQUEST | {"newer_than": "1d"}, ("data",))


def test_a_later_attempt_reckons_ages_from_its_own_moment_and_takes_what_lambda_lets_it() -> None:
    first, later = World(), World()
    later.clock.time += 3600
    later.reserved_concurrency = 2
    for world in (first, later):
        planned(world, REQUEST | {"newer_than": "1d", "limits": {"max_concurrency": 5}})
    assert is_same_plan(first.ledger.read_plan(), later.ledger.read_plan())
    assert is_plan_of(later.ledger.read_plan(), first.ledger.read(keys.REQUEST).request, ("data",))


def test_the_signer_holds_the_plan_against_the_request() -> None:
    """A seal that covers both says that PlanTransfer wrote them, not that they belong together."""
    asked = REQUEST | {"mode": "verify", "verify": "content", "certificate": True}
    world = World(signer=LocalSigner())
    assert isinstance(world.source, MemoryTree)
    world.source.put("f", Kind.FILE, b"1", Attributes(mtime_ns=1))
    World(source=world.source, destination=world.destination, run_id="first").run()
    world.walk("PlanTransfer", asked, "SummariseTransfer")
    other = RawRequest(asked | {"source": "s3://a-bucket/good/"})
    world.context("PlanTransfer").ledger.write(keys.REQUEST, other)
    row = {"schema_version": 2, **encoding.decode(encoding.encode(other))}
    write_seal(replace(read_seal(world.ledger), request=digest_of(row)), world.ledger)
    with pytest.raises(LedgerBroken, match=r"plan\.json is not the plan of runs/run-1/request\.json"):
        summarise_transfer(None, world.context("SummariseTransfer"))
    assert not world.ledger.has("certificate.json")
