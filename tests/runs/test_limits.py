"""The rates of a run in its steps; that they hold over many functions is in tests/work/rates/test_shares.py."""

from __future__ import annotations

import pytest
from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.facts import tuning
from fanout.facts.units import MIB
from fanout.model.deadline import PASSED
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest, TimeUp
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.work.context import Context
from fanout.work.rates.throttle import Throttle
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

REQUEST = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}


def limited(world: World, **wanted: float) -> list[Shard]:
    """The shards of a run with these limits."""
    world.list_all(world.plan({**REQUEST, "limits": wanted}))
    partition_shards(world.context())
    return [convert(row["shard"], Shard) for row in world.ledger.read_json("shards.json")]


def filled(files: int, size: int) -> World:
    world = World(clock=ManualClock())
    assert isinstance(world.source, MemoryTree)
    for number in range(files):
        world.source.put(f"f{number:04d}", Kind.FILE, bytes(size))
    return world


def attempt(world: World) -> Context:
    """A new attempt of CopyShard with a throttle of its own."""
    clock = world.clock
    world.limiter = Throttle("CopyShard", world.ledger, next(world.nonces), clock.now, clock.sleep)
    return world.context()


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that sleep at the same time would move the simulated clock one after the other."""
    monkeypatch.setattr(tuning, "CLIENT_OPERATIONS_IN_FLIGHT", 1)


@pytest.mark.usefixtures("one_thread")
def test_one_function_keeps_to_the_files_a_second() -> None:
    world = filled(files=300, size=10)
    (shard,) = limited(world, files_per_second=10)
    began = world.clock.time
    assert copy_shard(shard, attempt(world))["done"]
    assert 27.0 <= world.clock.time - began <= 33.0


@pytest.mark.usefixtures("one_thread")
def test_one_function_keeps_to_the_bytes_a_second() -> None:
    world = filled(files=40, size=2 * MIB)
    (shard,) = limited(world, bytes_per_second=4 * MIB)
    began = world.clock.time
    assert copy_shard(shard, attempt(world))["done"]
    assert 18.0 <= world.clock.time - began <= 22.0


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("seconds", [30.0, 3.0])
def test_what_time_does_not_reach_is_handed_back_and_no_failure(seconds: float) -> None:
    """Also where a function's time is shorter than its share of the rate needs for the first file."""
    world = filled(files=40, size=2 * MIB)
    (shard,) = limited(world, bytes_per_second=1 * MIB)
    world.remaining_seconds = seconds
    context = attempt(world)
    progress = copy_shard(shard, context)
    context.limiter.end()
    assert not progress["done"] and progress["cursor"] == (10 if seconds == 30.0 else 1)
    world.remaining_seconds = 900.0
    context = attempt(world)
    assert copy_shard(shard, context)["done"]
    world.finish_all()
    assert world.end()["totals"]["copied"]["entries"] == 40


@pytest.mark.usefixtures("one_thread")
def test_what_waits_for_a_function_that_was_killed_is_handed_back_and_no_failure() -> None:
    """Its note stands for a minute or two, and it has the whole rate until then."""
    world = filled(files=40, size=2 * MIB)
    (shard,) = limited(world, bytes_per_second=1 * MIB)
    world.remaining_seconds = 30.0
    copy_shard(shard, attempt(world))  # says nothing of its end
    context = attempt(world)
    assert copy_shard(shard, context) == {"cursor": 10, "done": False}
    context.limiter.end()
    world.remaining_seconds = 900.0
    assert copy_shard(shard, attempt(world))["done"]
    world.finish_all()
    totals = world.end()["totals"]
    assert (totals["copied"]["entries"], totals["failed"]["entries"]) == (40, 0)


@pytest.mark.usefixtures("one_thread")
def test_what_even_the_whole_rate_does_not_move_in_time_fails_and_goes_not_round_for_ever() -> None:
    world = filled(files=1, size=2 * MIB)
    (shard,) = limited(world, bytes_per_second=1 * MIB)
    world.remaining_seconds = 30.0
    copy_shard(shard, attempt(world))
    limiter = attempt(world).limiter
    with pytest.raises(TimeUp):
        limiter.read(900 * MIB, PASSED)
    assert limiter.cut_off(800 * MIB) and not limiter.cut_off(900 * MIB)


def test_no_more_functions_than_can_use_the_rate() -> None:
    world = filled(files=200, size=MIB)
    limited(world, bytes_per_second=8 * MIB, shard_seconds=0.1)
    shards = partition_shards(world.context())
    assert shards["count"] > 5 and shards["max_concurrency"] == 2 and shards["paced"]


def test_bytes_between_two_buckets_are_refused() -> None:
    request = {"source": "s3://a-bucket/x/", "destination": "s3://b-bucket/y/", "limits": {"bytes_per_second": 5 * MIB}}
    with pytest.raises(InvalidRequest, match=r"limits\.bytes_per_second: S3 copies between two buckets by itself"):
        World().plan(request)


@pytest.mark.parametrize("field", ["bytes_per_second", "files_per_second"])
def test_too_little_is_refused(field: str) -> None:
    with pytest.raises(InvalidRequest, match=f"limits.{field}"):
        World().plan({**REQUEST, "limits": {field: 0.5}})


def test_a_run_without_limits_has_no_file_of_them() -> None:
    world = filled(files=3, size=10)
    limited(world)
    assert world.ledger.find_json("limits.json") is None


@pytest.mark.parametrize("found", [b"[]", b'{"schema_version": 2, "files_per_second": -5}'])
def test_limits_that_are_not_valid_are_a_note_of_the_run(found: bytes) -> None:
    world = filled(files=3, size=10)
    world.list_all(world.plan({**REQUEST, "limits": {"files_per_second": 1000}}))
    partition_shards(world.context())
    world.copy_all()
    world.finish_all()
    world.store.put("runs/run-1/limits.json", found)
    summarise_transfer(None, world.context())
    summary = world.ledger.read_json("summary.json")
    assert summary["status"] == "SUCCEEDED"
    (note,) = [one for one in summary["notes"] if "limits.json" in one]
    assert note.endswith("what held before holds on, at first the limits of the request")
