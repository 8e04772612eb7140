"""The short way in the definition: where the run goes on after it, and what becomes of one that is lost."""

from __future__ import annotations

import pytest

from fanout.facts import tuning
from fanout.flow.short_way import ENDS, FIRST, definition, places
from fanout.model.errors import LedgerBroken

from .definition import load
from .engine import Engine, WalkedEngine
from .failing import always
from .lambda_service import LambdaService, NamedError, ServiceError


def test_a_small_run_is_three_functions_and_seven_states(engine: Engine) -> None:
    engine.transfer(short="SummariseTransfer")
    assert engine.run().status == "SUCCEEDED"
    assert engine.service.called() == ["PlanTransfer", "ShortWay", "SummariseTransfer"]
    expected = ["PlanTransfer", "AlreadyRunning?", "ShortWay", "HowFar?", "SummariseTransfer", "TransferSucceeded?"]
    assert engine.entered() == [*expected, "Succeeded"]


@pytest.mark.parametrize("place", sorted(places(definition()) - {"SummariseTransfer"}))
def test_the_ordinary_way_goes_on_where_the_short_one_ended(place: str, service: LambdaService) -> None:
    engine = WalkedEngine(service)
    engine.transfer(short=place, extras=("x",), verify="copied" if place == "VerifyShards" else "none")
    engine.run()
    assert engine.entered()[:5] == ["PlanTransfer", "AlreadyRunning?", "ShortWay", "HowFar?", place]


@pytest.mark.parametrize(
    ("error", "waits"),
    [
        (ServiceError(500, "Unknown"), True),
        (ServiceError(500, "ServiceException"), True),
        (LedgerBroken("x"), True),
        (NamedError("Runtime.ExitError"), False),
        (NamedError("Sandbox.Timedout"), False),
    ],
)
@pytest.mark.parametrize("left_at", [FIRST, "PartitionShards"])
def test_a_function_that_is_lost_is_taken_over_when_it_begins_nothing_more(
    error: Exception, waits: bool, left_at: str, service: LambdaService
) -> None:
    engine = WalkedEngine(service)
    engine.transfer(short="SummariseTransfer", left_at=left_at)
    service.functions["ShortWay"] = always(error)
    assert engine.run().status == "SUCCEEDED"
    entered = engine.entered()
    assert entered[2:6] == ["ShortWay", *["WaitForShortWay"] * waits, "TakeOver", "HowFar?", left_at][:4]
    assert service.called().count("ShortWay") == 1


def test_step_functions_waits_until_a_lost_function_begins_nothing_more() -> None:
    states = load()["States"]
    assert states["WaitForShortWay"]["Seconds"] >= tuning.SHORT_WAY_SECONDS


def test_the_walk_ends_and_begins_at_states_that_are_there() -> None:
    states = load()["States"]
    assert places(definition()) >= ENDS
    assert {FIRST, *places(definition())} <= states.keys()
    assert states["HowFar?"]["Default"] == FIRST
