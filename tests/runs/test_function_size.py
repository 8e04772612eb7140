"""Functions of a stack may have 900 or 1,800 seconds, and more memory: what one finishes, and what that costs."""

from __future__ import annotations

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.efs.load import RequestCount
from fanout.efs.phase_cost import Overhead
from fanout.facts import aws
from fanout.facts.prices import prices_with
from fanout.facts.units import MIB
from fanout.forecast.costs import dollars_of
from fanout.forecast.spending import _AttemptSums
from fanout.forecast.way import Way
from fanout.model.deadline import PASSED
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest, TimeUp
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.request.parse import parse_request
from fanout.request.parts.limits import FunctionSize
from fanout.runtime.settings import settings_from
from fanout.shards.tasks.attempt import Attempt
from fanout.work.context import Context
from fanout.work.rates.throttle import Throttle
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

REQUEST = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
BOTH = pytest.mark.parametrize("seconds", [aws.FUNCTION_SECONDS, aws.FUNCTION_SECONDS_MOST])


def filled(files: int, **limits: float) -> tuple[World, Shard]:
    """A world with a shard of files of a byte."""
    world = World(clock=ManualClock())
    assert isinstance(world.source, MemoryTree)
    for number in range(files):
        world.source.put(f"f{number:04d}", Kind.FILE, b"x")
    world.list_all(world.plan({**REQUEST, "limits": limits}))
    partition_shards(world.context())
    [shard] = [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]
    return world, shard


def attempt(world: World, seconds: float) -> Context:
    """An attempt of a function that has so many seconds."""
    clock = world.clock
    world.remaining_seconds = seconds
    world.limiter = Throttle("CopyShard", world.ledger, next(world.nonces), clock.now, clock.sleep, seconds)
    return world.context()


@BOTH
def test_what_a_function_copies_before_it_hands_back_grows_with_its_time(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanout.facts.tuning.CLIENT_OPERATIONS_IN_FLIGHT", 1)
    world, shard = filled(2_000, files_per_second=1)
    progress = copy_shard(shard, attempt(world, seconds))
    assert not progress["done"]
    assert seconds - 35 <= progress["cursor"] <= seconds - 25  # a reserve of 30 s


@BOTH
def test_what_a_function_is_too_short_for_grows_with_its_time(seconds: float) -> None:
    world, _ = filled(1, bytes_per_second=MIB)
    limiter = attempt(world, seconds).limiter
    with pytest.raises(TimeUp):
        limiter.read(int(seconds) * MIB, PASSED)
    assert limiter.cut_off(int(seconds - 100) * MIB) and not limiter.cut_off(int(seconds) * MIB)


@BOTH
def test_a_task_without_an_end_counts_for_the_time_of_a_function_at_most(seconds: float) -> None:
    tasks = _AttemptSums(10_000.0, seconds)
    tasks.add([Attempt("1", "n", 0.0)])
    assert tasks.seconds == seconds


@BOTH
def test_a_shard_may_take_half_of_a_functions_time(seconds: int) -> None:
    function = FunctionSize(seconds=seconds)
    asked = {**REQUEST, "limits": {"shard_seconds": seconds / 2}}
    assert parse_request(asked, ("",), 10, function).function == function
    asked["limits"] = {"shard_seconds": seconds / 2 + 1}
    with pytest.raises(InvalidRequest, match=r"limits\.shard_seconds"):
        parse_request(asked, ("",), 10, function)


def test_seconds_of_a_larger_function_cost_as_much_more() -> None:
    def compute(megabytes: int) -> float:
        way, price = Way(is_short=False, counts=Overhead(), seconds=0.0), prices_with({})
        function = FunctionSize(megabytes=megabytes)
        return dollars_of(way, RequestCount(), 1e6, 0.0, price, function=function).compute

    assert compute(2 * 1_769) == pytest.approx(2 * compute(1_769), rel=1e-3)


def test_the_size_is_what_the_template_gives_and_by_default_what_every_region_takes() -> None:
    assert settings_from({"FANOUT_WORK_BUCKET": "b"}).function == FunctionSize(aws.FUNCTION_SECONDS, 1_769)
    given = {"FANOUT_FUNCTION_SECONDS": "1800", "FANOUT_FUNCTION_MEGABYTES": "3538"}
    assert settings_from({"FANOUT_WORK_BUCKET": "b", **given}).function == FunctionSize(1_800, 3_538)


def test_a_plan_holds_the_size_of_the_stacks_functions() -> None:
    world = World()
    world.function = FunctionSize(1_800, 3_538)
    world.plan(REQUEST)
    assert world.ledger.read_plan().request.function == world.function


def test_the_price_of_a_function_is_that_of_its_processor_unless_the_stack_says_another() -> None:
    def price(**environment: str) -> float:
        return prices_with(settings_from({"FANOUT_WORK_BUCKET": "w", **environment}).prices)["lambda_gb_second"]

    assert price() == price(FANOUT_ARCHITECTURE="arm64") == pytest.approx(0.0000133334)
    assert price(FANOUT_ARCHITECTURE="x86_64") == pytest.approx(0.0000166667)
    assert price(FANOUT_ARCHITECTURE="x86_64", FANOUT_PRICES='{"lambda_gb_second": 0.5}') == 0.5
