"""The forecast: each limit in a case where it binds, credits that run out, phases by what is asked, and properties."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.calibration import Calibration, rates_of
from fanout.efs.capacity import FileSystemState
from fanout.efs.load import Work
from fanout.efs.seconds import DEFAULT_RATES, INSIDE_S3_RATES
from fanout.facts.prices import PRICES
from fanout.facts.units import GIB, MIB
from fanout.forecast.copying import Limit
from fanout.forecast.forecast import Forecast, forecast
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout.request.request import Request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state

S3, DATA = "s3://my-data/in/", "efs:///copy"
ELASTIC = idle_state(ThroughputMode.ELASTIC)
BURSTING = idle_state(ThroughputMode.BURSTING, 100 * GIB)
PROBED = Calibration(
    write_bytes_per_second_client=60e6,
    write_bytes_per_second_file=30e6,
    read_bytes_per_second_client=70e6,
    create_seconds=0.004,
    small_write_seconds=0.012,
    creations_per_second_directory=200,
    functions={1: 60e6, 2: 110e6, 4: 120e6},
)


def request(source: str = S3, destination: str = DATA, concurrency: int = 100, **fields: Any) -> Request:
    return parse_request({"source": source, "destination": destination, **fields}, ("data",), concurrency)


def predicted(
    entries: int, size: int, state: FileSystemState | None = ELASTIC, asked: Request | None = None, **known: Any
) -> Forecast:
    states = {} if state is None else {"data": state}
    return estimate(asked or request(), EstimateFacts(entries, size, states=states, **known))


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        (Limit.CONCURRENCY, predicted(1_000, 10**12, asked=request(concurrency=2))),
        (Limit.FILE_SYSTEM, predicted(10_000, 10**13, asked=request(concurrency=1000))),
        (Limit.IOPS, predicted(10**6, 10**9, asked=request("efs:///a", "efs:///b"))),
        (Limit.S3_REQUESTS, predicted(10**7, 10**10, asked=request(S3, "s3://my-results/out/"))),
        (Limit.ONE_DIRECTORY, predicted(100_000, 10**9, largest_directory=100_000)),
        (Limit.REQUEST, predicted(1_000, 10**12, asked=request(limits={"bytes_per_second": 10 * MIB}))),
        (Limit.REQUEST, predicted(100_000, 10**9, asked=request(limits={"files_per_second": 50}))),
    ],
)
def test_what_binds(limit: Limit, found: Forecast) -> None:
    assert found.binding is limit
    assert found.seconds["copy"] == pytest.approx(found.limit_seconds[limit] + 5)


def test_one_long_shard_binds_as_the_client_s_limit_and_very_many_as_the_rate_of_starts() -> None:
    long = Work(10, 10, 10**10, shards=10, longest_seconds=10_000)
    assert forecast(request(), long, DEFAULT_RATES, {"data": ELASTIC}).binding is Limit.CLIENT
    many = Work(10**6, 10**6, 0, shards=10**6, longest_seconds=0.1)
    asked = request(S3, "s3://my-results/out/", concurrency=10_000)
    assert forecast(asked, many, INSIDE_S3_RATES, {}).binding is Limit.DISPATCH_RATE


def test_a_rate_of_the_request_takes_its_time_by_hand_and_starts_only_the_functions_that_share_it() -> None:
    found = predicted(1_000, 1000 * MIB, asked=request(limits={"bytes_per_second": 10 * MIB}))
    assert found.limit_seconds[Limit.REQUEST] == pytest.approx(100)
    assert found.pace.max_concurrency == 2
    files = predicted(1_000, 1000 * MIB, asked=request(limits={"files_per_second": 4}))
    assert files.limit_seconds[Limit.REQUEST] == pytest.approx(250)
    both = request("efs:///a", "efs:///b", mode="verify", limits={"bytes_per_second": 10 * MIB})
    assert predicted(1_000, 1000 * MIB, asked=both).limit_seconds[Limit.REQUEST] == pytest.approx(200)


def test_inside_one_file_system_no_request_to_s3_is_a_limit() -> None:
    assert predicted(10**6, 10**9, asked=request("efs:///a", "efs:///b")).limit_seconds[Limit.S3_REQUESTS] == 0


@pytest.mark.parametrize(
    ("fields", "phases"),
    [
        ({}, ["plan", "list", "partition", "copy", "finish", "summarise"]),
        ({"mode": "plan"}, ["plan", "list", "partition", "copy", "finish", "delete", "summarise"]),
        ({"mode": "verify"}, ["plan", "list", "partition", "verify", "summarise"]),
        ({"mode": "sync"}, ["plan", "list", "partition", "copy", "finish", "delete", "summarise"]),
        ({"verify": "copied"}, ["plan", "list", "partition", "copy", "finish", "verify", "summarise"]),
    ],
)
def test_phases_are_those_that_the_request_asks_for(fields: dict[str, Any], phases: list[str]) -> None:
    assert list(predicted(1000, 10**9, asked=request(**fields), extras=7).seconds) == phases


def test_a_probe_s_rates_and_limit_are_the_forecast_s() -> None:
    probed = predicted(1000, 10**12, calibrations={"data": PROBED})
    assert rates_of(request(), {"data": PROBED}).bytes_per_second == 60e6
    assert probed.states["data"].probed_bytes_per_second == 120e6
    assert probed.binding is Limit.FILE_SYSTEM
    assert probed.limit_seconds[Limit.FILE_SYSTEM] == pytest.approx(10**12 / 120e6, rel=0.001)
    flat = predicted(1000, 10**6, calibrations={"data": PROBED}, largest_directory=1000)
    assert flat.limit_seconds[Limit.ONE_DIRECTORY] == pytest.approx(5)


def test_inside_s3_a_probe_of_a_file_system_means_nothing() -> None:
    assert rates_of(request(S3, "s3://my-results/out/"), {"data": PROBED}) == INSIDE_S3_RATES


def test_nothing_to_copy_takes_no_time_to_copy() -> None:
    found = predicted(0, 0)
    assert found.seconds["copy"] == 0
    assert found.dollars.total < 0.01


work = st.tuples(st.integers(1, 10**8), st.integers(0, 10**14))
modes = st.sampled_from([ELASTIC, BURSTING, None, idle_state(ThroughputMode.PROVISIONED, 0, 64.0 * MIB)])


@given(work, modes, st.integers(1, 1000))
def test_a_forecast_is_never_under_any_of_its_limits_and_its_functions_are_allowed(
    done: tuple[int, int], state: FileSystemState | None, concurrency: int
) -> None:
    found = predicted(*done, state, request(concurrency=concurrency))
    assert all(seconds >= 0 for seconds in found.limit_seconds.values())
    assert found.seconds["copy"] >= max(found.limit_seconds.values())
    assert 1 <= found.pace.max_concurrency <= concurrency
    assert found.dollars.total > 0


@given(work, modes, st.integers(1, 1000))
def test_twice_the_entries_and_bytes_never_take_less_by_the_same_way(
    done: tuple[int, int], state: FileSystemState | None, concurrency: int
) -> None:
    asked = request(concurrency=concurrency)
    once, twice = predicted(*done, state, asked), predicted(done[0] * 2, done[1] * 2, state, asked)
    if once.way.is_short == twice.way.is_short:  # one function copies 30 s of shards one after the other
        assert twice.seconds["copy"] >= once.seconds["copy"] * 0.999
    assert twice.dollars.total >= once.dollars.total * 0.999


@given(work, modes)
def test_more_functions_are_never_slower(done: tuple[int, int], state: FileSystemState | None) -> None:
    few, many = (predicted(*done, state, request(concurrency=number)) for number in (5, 500))
    assert many.limit_seconds[Limit.CONCURRENCY] <= few.limit_seconds[Limit.CONCURRENCY] * 1.001


def test_what_goes_to_s3_files_costs_a_put_a_file_more_and_takes_no_longer() -> None:
    """It is written to the bucket after the copy, by the service."""
    elastic = FileSystemState(ThroughputMode.ELASTIC, float(GIB))
    asked, work = request(), Work(1_000_000, 1_000_000, GIB, 100, 60.0)
    on_efs, on_s3_files = (
        forecast(asked, work, DEFAULT_RATES, {"data": replace(elastic, puts_a_file=puts)}) for puts in (0, 1)
    )
    assert on_s3_files.dollars.s3 - on_efs.dollars.s3 == pytest.approx(1_000_000 * PRICES["s3_put"].dollars)
    assert on_s3_files.seconds == on_efs.seconds
