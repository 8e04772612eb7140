"""What a plan makes of the newest probe of its file system."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fanout.efs.calibration import Calibration
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts.operations import OPERATIONS_PER_FILE, SMALL_WRITE_OPERATIONS
from fanout.facts.units import MIB
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest
from fanout.partition.partition_shards import partition_shards
from tests.support.flow import REQUEST, World
from tests.support.memory import MemoryTree
from tests.support.probe_results import probe_json

FOUND = Calibration(20.0 * MIB, 15.0 * MIB, 30.0 * MIB, 0.01, 0.03, 100.0, {1: 20.0 * MIB, 2: 21.0 * MIB})


def document(found: Calibration | None) -> Json:
    return probe_json(found, "probe-7", 1_000_000.0)


def world_of(latest: Any, file_system: str = "data", **options: Any) -> World:
    world = World(**options)
    assert isinstance(world.source, MemoryTree)
    for number in range(500):
        world.source.put(f"d{number % 7}/f{number}", Kind.FILE, bytes(400_000))
    if latest is not None:
        world.ledger.of_file_system(file_system).write_json("latest.json", latest)
    return world


def test_the_plan_predicts_with_what_was_measured() -> None:
    world = world_of(document(FOUND))
    summary = world.run()
    rates = world.ledger.read_plan().rates
    assert rates.bytes_per_second == 20 * MIB
    assert world.ledger.read_plan().creations_per_second == 100
    assert summary["forecast"]["limit_seconds"]["one directory"] == pytest.approx(72 / 100)  # of 500 files in 7
    assert rates.seconds_per_entry == pytest.approx((0.03 + (OPERATIONS_PER_FILE - SMALL_WRITE_OPERATIONS) * 0.01) / 64)
    assert "data: rates are those that probe-7 measured on 1970-01-12" in summary["notes"]


def test_the_pace_starts_no_more_functions_than_reach_the_limit_that_was_found() -> None:
    limits = {"shard_seconds": 0.1, "max_concurrency": 10}

    def pace(latest: Any) -> int:
        world = world_of(latest)
        world.list_all(world.plan({**REQUEST, "limits": limits}))
        partition_shards(world.context())
        found: int = world.ledger.read_json("forecast.json")["pace"]["max_concurrency"]
        return found

    slow = replace(FOUND, functions={1: 20.0 * MIB, 2: 21.0 * MIB})
    more = replace(FOUND, functions={1: 20.0 * MIB, 2: 40.0 * MIB})
    assert pace(document(slow)) < pace(document(more)) == pace(None) == 10


def test_of_a_file_system_with_an_id_the_result_lies_under_it() -> None:
    world = world_of(document(FOUND), "fs-1", file_system_ids={"data": "fs-1"})
    world.plan(REQUEST)
    assert world.ledger.read_plan().rates.bytes_per_second == 20 * MIB


@pytest.mark.parametrize(
    "latest",
    [None, document(None), {"schema_version": 9, "calibration": {}}, [], {"schema_version": 2, "calibration": 5}],
    ids=["none", "too little", "version", "list", "number"],
)
def test_without_a_result_that_can_be_used_the_published_figures_count(latest: Any) -> None:
    world = world_of(latest)
    summary = world.run()
    assert summary["status"] == "SUCCEEDED"
    assert world.ledger.read_plan().rates == DEFAULT_RATES
    said = [note for note in summary["notes"] if "newest probe could not be used" in note]
    assert len(said) == (0 if latest is None or latest == document(None) else 1)


def world_with(probe: Json, **options: Any) -> World:
    """One whose newest result is ``FOUND``, and that has the result of one more probe."""
    world = world_of(document(FOUND), **options)
    world.ledger.of_run("probe-3").write_json("probe.json", probe)
    return world


SLOW = replace(FOUND, write_bytes_per_second_client=5.0 * MIB)
OTHER = document(SLOW) | {"probe_id": "probe-3"}


def test_a_request_can_name_the_probe() -> None:
    world = world_with(OTHER)
    summary = world.run({**REQUEST, "calibration": "probe-3"})
    assert world.ledger.read_plan().rates.bytes_per_second == 5 * MIB
    assert [note for note in summary["notes"] if "probe" in note] == [
        "data: rates are those that probe-3 measured on 1970-01-12"
    ]


def test_a_request_can_do_without_a_probe() -> None:
    world = world_with(OTHER)
    summary = world.run({**REQUEST, "calibration": "none"})
    assert world.ledger.read_plan().rates == DEFAULT_RATES
    assert "data: rates are the published ones, as the request says" in summary["notes"]


@pytest.mark.parametrize(
    ("probe", "problem"),
    [
        (OTHER | {"calibration": None}, "ended without a calibration"),
        (OTHER | {"mount": "results"}, "measured results, which is at no end of the request"),
        (OTHER | {"file_system_id": "fs-2"}, "measured fs-2, which is at no end of the request"),
        ({}, "schema version is None"),
    ],
)
def test_a_named_probe_that_can_not_be_used_is_refused(probe: Json, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        world_with(probe).plan({**REQUEST, "calibration": "probe-3"})


@pytest.mark.parametrize("name", ["probe-4", "../probes", ""])
def test_a_name_that_is_no_probe_s_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="calibration"):
        world_with(OTHER).plan({**REQUEST, "calibration": name})
