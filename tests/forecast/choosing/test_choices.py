"""Which plans no other beats, which one is taken, and whether another throughput mode would pay."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, most_credits
from fanout.forecast.choosing.choices import (
    SPARE,
    Choice,
    choices_of,
    few,
    function_levels,
    shard_levels,
    taken,
    unbeaten,
)
from fanout.forecast.choosing.finish import Finish, Moments, decide_finish, reached
from fanout.forecast.copying import Limit
from fanout.forecast.forecast import Forecast
from fanout.model.document import Json
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, idle_state

NOW = 1_700_000_000.0
GB = 10**9
PLANS = st.builds(
    Choice, st.integers(1, 500), st.just(60.0), st.floats(1, 1e5), st.floats(0.01, 1e3), st.sampled_from(Limit)
)


@given(st.lists(PLANS, min_size=1))
def test_no_plan_of_the_front_is_beaten_and_every_other_one_is(plans: list[Choice]) -> None:
    front = unbeaten(plans)
    assert [one.seconds for one in front] == sorted(one.seconds for one in front)
    for one in plans:
        assert any(other.seconds <= one.seconds + 1e-3 and other.dollars <= one.dollars + 1e-5 for other in front)
    for one, other in pairwise(front):
        assert one.dollars > other.dollars and one.seconds <= other.seconds + 1e-3


@given(st.lists(PLANS, min_size=1), st.floats(1, 1e5))
def test_the_cheapest_with_a_spare_is_taken_else_the_fastest_in_time(plans: list[Choice], left: float) -> None:
    front = unbeaten(plans)
    choice = taken(front, left)
    in_time = [one.dollars for one in plans if one.seconds * (1 + SPARE) <= left]
    if choice is None:
        assert all(one.seconds > left - 1e-3 for one in plans)
    elif in_time:
        assert choice.dollars <= min(in_time) + 1e-5 and choice.with_spare <= left
    else:
        assert choice == front[0] and choice.seconds <= left
    assert {front[0], front[-1]} <= set(few(front, choice)) and (choice is None or choice in few(front, choice))


@pytest.mark.parametrize("most", [1, 2, 7, 100, 1000])
def test_levels_go_from_one_function_to_the_most_and_are_few(most: int) -> None:
    levels = function_levels(most)
    assert levels == sorted(set(levels)) and levels[0] == 1 and levels[-1] == most and len(levels) < 40
    assert shard_levels(20.0) == [15.0, 20.0] and shard_levels(5.0) == [5.0]


def decided(known: EstimateFacts, left: float, **limits: float) -> Finish:
    document: Json = {"source": "s3://a-bucket/x/", "destination": "efs:///y", "limits": limits}
    request = parse_request(document, ("data",), 500)

    def predict(functions: int, shard_seconds: float, states: Mapping[str, FileSystemState]) -> tuple[Forecast, float]:
        own = replace(request.limits, max_concurrency=functions, shard_seconds=shard_seconds)
        found = estimate(replace(request, limits=own), replace(known, states=states))
        return found, sum(found.seconds.values())

    moments = Moments("4h", NOW, NOW, NOW + left)
    return decide_finish(moments, 500, [60.0], predict, known.states)


FILES = EstimateFacts(1_000_000, 300 * GB, states={"data": idle_state(ThroughputMode.ELASTIC, 100 * GB)})
FEW_CREDITS = idle_state(ThroughputMode.BURSTING, 100 * GB, credits_bytes=most_credits(100 * GB) * 0.2)


def test_a_later_end_never_costs_more_and_starts_no_more_functions() -> None:
    found = [decided(FILES, left, bytes_per_second=50e6) for left in (7_500, 10_000, 20_000, 80_000)]
    assert all(one.functions for one in found)
    assert [one.dollars for one in found] == sorted((one.dollars for one in found), reverse=True)


def test_elastic_throughput_pays_where_credits_would_be_too_few() -> None:
    (other,) = decided(replace(FILES, states={"data": FEW_CREDITS}), 4 * 3600).other_modes
    assert other.pays and other.throughput_mode is ThroughputMode.ELASTIC
    assert "which no plan does now: a change would pay; no run changes it" in other.sentence


def test_elastic_throughput_does_not_pay_where_there_is_time() -> None:
    found = decided(replace(FILES, states={"data": FEW_CREDITS}), 60 * 3600)
    (other,) = found.other_modes
    assert found.functions and not other.pays and "a change would not pay" in other.sentence


def test_bursting_throughput_pays_where_there_is_time_and_elastic_meters() -> None:
    (other,) = decided(FILES, 60 * 3600).other_modes
    assert other.pays and other.throughput_mode is ThroughputMode.BURSTING
    (hurried,) = decided(FILES, 4 * 3600).other_modes
    assert not hurried.pays and "no plan would end in time" in hurried.sentence


def test_where_no_plan_ends_the_nearest_and_what_binds_are_said() -> None:
    found = decided(FILES, 600, bytes_per_second=50e6)
    assert found.functions == 0 and found.nearest.startswith("1h")
    assert found.why.endswith("rate of the request binds it")


def test_what_became_of_it_names_the_phase_that_was_off() -> None:
    finish = decided(FILES, 4 * 3600)
    predicted, actual = {"copy": 600.0, "list": 30.0}, {"copy": 900.0, "list": 20.0}
    after = reached(finish, NOW + 14_400, NOW + 13_200, predicted, actual, whole=True)
    assert after.reached and "20m before" in after.outcome and "copy took 300 s more than predicted" in after.outcome
    in_time = reached(finish, NOW + 14_400, NOW + 14_400.6, predicted, actual, whole=True)
    assert in_time.reached and "just in time" in in_time.outcome
    late = reached(finish, NOW + 14_400, NOW + 15_000, predicted, actual, whole=True)
    assert late.reached is False and "10m after" in late.outcome
    part = reached(finish, NOW + 14_400, NOW + 13_200, predicted, actual, whole=False)
    assert part.reached is False and "with work left" in part.outcome


def test_all_plans_of_a_large_run_are_predicted_in_little_time() -> None:
    def predict(functions: int, shard_seconds: float) -> tuple[Forecast, float]:
        request = parse_request({"source": "s3://a-bucket/x/", "destination": "efs:///y"}, ("data",), 1000)
        own = replace(request.limits, max_concurrency=functions, shard_seconds=shard_seconds)
        found = estimate(replace(request, limits=own), replace(FILES, entries=50_000_000))
        return found, sum(found.seconds.values())

    began = time.process_time()
    choices_of(function_levels(1000), shard_levels(450.0), predict)
    assert time.process_time() - began < 10
