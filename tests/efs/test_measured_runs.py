"""What a run makes of what its file system says, or does not say; and that it goes on in every case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec import field

from fanout.efs.capacity import most_credits
from fanout.facts import aws, tuning
from fanout.facts.units import GIB, MIB
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import AccessDenied, FanoutError, InvalidRequest, NotFound, Throttled, Transient, Unreachable
from fanout.model.file_system import CREDITS, IO_LIMIT, METERED, METRICS, PERMITTED, Described, Reading, ThroughputMode
from fanout.partition.partition_shards import partition_shards
from fanout.shards.tasks.forecast_threads import threads_of
from tests.support.flow import REQUEST, ManualClock, World
from tests.support.memory import MemoryTree
from tests.support.memory_meter import MemoryMeter

NOW = ManualClock().time
BURSTING = Described(ThroughputMode.BURSTING, "generalPurpose", False, 100 * GIB, 0, 0, 0)
ELASTIC = Described(ThroughputMode.ELASTIC, "generalPurpose", False, 100 * GIB, 0, 0, 0)
IDLE = {
    CREDITS: [Reading(NOW - 60, most_credits(0))],
    PERMITTED: [Reading(NOW - 60, 100.0 * MIB)],
    IO_LIMIT: [Reading(NOW - 60, 0.0)],
    METERED: [Reading(NOW - 60, 0.0)],
}


def world_of(described: Described | None = None, metrics: Mapping[str, Sequence[Reading]] | None = None) -> World:
    systems = {"fs-1": described} if described else {}
    world = World(meter=MemoryMeter(systems, {"fs-1": metrics or {}}), file_system_ids={"data": "fs-1"})
    assert isinstance(world.source, MemoryTree)
    for number in range(200):
        world.source.put(f"d{number % 7}/f{number}", Kind.FILE, bytes(40_000))
    return world


def partitioned(world: World, **limits: float) -> Json:
    """The reference that CopyShards is started with; shards are short, so that there are many."""
    world.list_all(world.plan({**REQUEST, "limits": {"shard_seconds": 0.1, **limits}}))
    return partition_shards(world.context())


def test_a_measured_file_system_stands_in_the_forecast_without_assumptions() -> None:
    world = world_of(BURSTING, IDLE)
    summary = world.run()
    assert summary["status"] == "SUCCEEDED"
    (system,) = summary["forecast"]["file_systems"]
    assert (system["throughput_mode"], system["assumptions"]) == ("bursting", [])
    assert system["credits"]["begin_bytes"] == round(most_credits(0))
    assert not [note for note in summary["notes"] if "fs-1" in note]


FAULTS = [
    AccessDenied("elasticfilesystem:DescribeFileSystems", "fs-1", "allow it"),
    Throttled("slow down"),
    Transient("try again"),
    Unreachable("no answer"),
    NotFound("there is no fs-1"),
]


@pytest.mark.parametrize("error", FAULTS, ids=lambda error: type(error).__name__)
def test_a_file_system_that_can_not_be_asked_is_taken_for_the_smallest_and_the_run_goes_on(error: FanoutError) -> None:
    world = world_of()
    world.meter.refuses = error
    summary = world.run()
    assert summary["status"] == "SUCCEEDED"
    assert [note for note in summary["notes"] if "fs-1" in note and type(error).__name__ in note]
    (system,) = summary["forecast"]["file_systems"]
    assert system["throughput_mode"] == "assumed"
    assert system["permitted_bytes_per_second"] == 100 * MIB


class Moody(MemoryMeter):
    """Refuses its first answers, or all about metrics."""

    refusals: list[FanoutError] = field(default_factory=list)
    metrics_refused: FanoutError | None = None
    asked: int = 0

    def describe(self, file_system_id: str) -> Described:
        self.asked += 1
        if self.refusals:
            raise self.refusals.pop(0)
        return super().describe(file_system_id)

    def readings(self, file_system_id: str, now: float) -> Mapping[str, Sequence[Reading]]:
        if self.metrics_refused is not None:
            raise self.metrics_refused
        return super().readings(file_system_id, now)


def test_a_question_that_is_throttled_is_asked_again_and_a_refused_one_is_not() -> None:
    world = world_of()
    world.meter = Moody({"fs-1": ELASTIC}, {"fs-1": IDLE}, refusals=[Throttled("slow down"), Transient("lost")])
    assert world.run()["forecast"]["file_systems"][0]["throughput_mode"] == "elastic"
    world = world_of()
    world.meter = meter = Moody({"fs-1": ELASTIC}, refusals=[FAULTS[0], FAULTS[0]])
    assert world.run()["forecast"]["file_systems"][0]["throughput_mode"] == "assumed"
    assert meter.asked == 1


def test_metrics_that_are_refused_are_missing_ones_and_the_mode_stays_known() -> None:
    world = world_of()
    world.meter = Moody({"fs-1": BURSTING}, metrics_refused=FAULTS[0])
    summary = world.run()
    (system,) = summary["forecast"]["file_systems"]
    assert system["throughput_mode"] == "bursting"
    assert system["credits"]["begin_bytes"] == 0
    assert [name for name in METRICS if not any(name in sentence for sentence in system["assumptions"])] == []
    assert [note for note in summary["notes"] if "metrics of fs-1" in note and "AccessDenied" in note]


def test_the_fewer_bytes_a_file_system_takes_the_fewer_functions_copy() -> None:
    rich = partitioned(world_of(ELASTIC, {**IDLE, PERMITTED: [Reading(NOW, float(GIB))]}))["max_concurrency"]
    slow = {**IDLE, PERMITTED: [Reading(NOW, 1.0 * MIB)]}
    poor = partitioned(world_of(ELASTIC, slow))["max_concurrency"]
    unknown = partitioned(World(file_system_ids={}, source=world_of().source))["max_concurrency"]
    assert poor == 1
    assert poor < rich <= unknown


@pytest.mark.parametrize("segment_entries", [10_000, 60])
def test_the_fullest_directory_is_a_limit_however_many_functions_listed_it(
    monkeypatch: pytest.MonkeyPatch, segment_entries: int
) -> None:
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", segment_entries)
    monkeypatch.setattr(tuning, "FIRST_SEGMENT_ENTRIES", segment_entries)
    world = world_of(ELASTIC, IDLE)
    assert isinstance(world.source, MemoryTree)
    for number in range(301):
        world.source.put(f"flat/f{number:03d}", Kind.FILE, b"1")
    forecast = world.run()["forecast"]
    assert forecast["limit_seconds"]["one directory"] == pytest.approx(301 * aws.EFS_WRITE_SECONDS, abs=0.001)


def test_a_request_never_gets_more_functions_than_it_allows_itself() -> None:
    assert partitioned(world_of(ELASTIC, IDLE), max_concurrency=2)["max_concurrency"] <= 2


def test_the_higher_the_reserve_the_less_of_the_credits_is_used() -> None:
    scarce = {**IDLE, CREDITS: [Reading(NOW, 0.3 * most_credits(0))]}

    def end(percent: float) -> float:
        world = world_of(BURSTING, scarce)
        partitioned(world, credit_reserve_percent=percent)
        credits: Json = world.ledger.read_json("forecast.json")["file_systems"][0]["credits"]
        return float(credits["end_bytes"])

    assert end(0) <= end(29) <= end(100) <= 0.31 * most_credits(0)


def test_prices_are_the_table_s_or_the_stack_s_or_the_request_s() -> None:
    def fee(stack: dict[str, float], request: dict[str, float]) -> float:
        world = world_of()
        world.prices = stack
        world.list_all(world.plan({**REQUEST, "prices": request}))
        partition_shards(world.context())
        return float(world.ledger.read_json("forecast.json")["datasync_dollars"]["fee"])

    moved = 200 * 40_000 / 1e9
    assert fee({}, {}) == pytest.approx(moved * 0.0125, abs=1e-6)
    assert fee({"datasync_basic_gb": 2.0}, {}) == pytest.approx(moved * 2, abs=1e-6)
    dear = {"datasync_basic_gb": 1000.0}
    assert fee({**dear, "datasync_task": 2.0}, {}) == pytest.approx(2 + moved * 0.015, abs=1e-6)
    assert fee({**dear, "datasync_gb": 0.0}, {"datasync_task": 3.0}) == pytest.approx(3)


@pytest.mark.parametrize("wrong", [{"gold": 1.0}, {"s3_get": -1.0}, {"s3_get": "free"}, {"s3_get": float("inf")}])
def test_a_price_of_the_stack_that_is_none_is_refused_by_its_name(wrong: dict[str, float]) -> None:
    world = world_of()
    world.prices = wrong
    with pytest.raises(InvalidRequest, match=f"Prices.{next(iter(wrong))}"):
        world.plan(REQUEST)


def test_what_is_counted_after_the_run_is_what_was_done() -> None:
    world = world_of(ELASTIC, IDLE)
    first = world.run()["forecast"]
    assert first["actual_dollars"]["s3"] == pytest.approx(first["dollars"]["s3"], rel=0.01)
    assert first["actual_dollars"]["efs"] == pytest.approx(first["dollars"]["efs"], rel=0.01)
    assert first["dollars"]["efs"] > 0
    again = World(source=world.source, destination=world.destination, changes=world.changes, file_system_ids={})
    second = again.run()["forecast"]
    of_listing = second["actual_dollars"]["efs"]  # all of it was unchanged
    assert of_listing == second["dollars"]["efs"] < first["dollars"]["efs"] / 4
    assert second["actual_dollars"]["s3"] < first["actual_dollars"]["s3"]
    named = {name: cost for name, cost in second["actual_dollars"].items() if name != "total"}
    assert sum(named.values()) == pytest.approx(second["actual_dollars"]["total"], abs=1e-5)


def test_seconds_of_functions_are_counted_as_the_records_have_them() -> None:
    world = world_of(ELASTIC, IDLE)
    world.clock.step = 0.5
    forecast = world.run()["forecast"]
    tasks = world.ledger.read_json("summary.json")["tasks"][0]["seconds"]
    listed = sum(world.ledger.read_json(key)["seconds"] for key in world.ledger.keys("segments/done/"))
    assert tasks > 0 and listed > 0
    wanted = (tasks + listed + 60) * 1.769 * 0.0000133334
    assert forecast["actual_dollars"]["lambda"] == pytest.approx(wanted, rel=0.01)


def test_copying_takes_no_more_threads_than_the_pace_says() -> None:
    few = {**IDLE, PERMITTED: [Reading(NOW, 1.0 * MIB)]}
    world = world_of(ELASTIC, few)
    partitioned(world)
    assert threads_of(world.ledger) == world.ledger.read_json("forecast.json")["pace"]["threads"] < 64
    assert threads_of(Ledger(world.store, "another-run")) == 64
