"""The pacing's table, and simulated hours: credits are never driven to zero, and little time is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, baseline, burst, most_credits, reserve_bytes
from fanout.facts.units import MIB
from fanout.model.file_system import ThroughputMode
from fanout.pacing.rule import (
    LEAST_RATE,
    SETTLE_SECONDS,
    ExpectedEnd,
    Observed,
    Pacing,
    PacingLimits,
    credits_left,
    decide,
)
from fanout.work.rates.run_limits import functions_for
from tests.support.simulated_efs import GB, Simulation

ELASTIC = FileSystemState(ThroughputMode.ELASTIC, 1024.0 * MIB)
SIZE = 100 * GB
BURSTING = FileSystemState(ThroughputMode.BURSTING, burst(SIZE), standard_bytes=SIZE, credits_bytes=0.0)
BOUNDS = PacingLimits(most=100, planned=20, reserve_percent=20.0)
QUIET = Observed("data", ELASTIC, 1e12, io_percent=10.0, used=1.0)
NOW = 1e6


@pytest.mark.parametrize(
    ("seen", "throttled", "before", "after"),
    [
        ([QUIET], 0, Pacing(40), 50),
        ([QUIET], 0, Pacing(1), 2),
        ([QUIET], 0, Pacing(99), 100),
        ([QUIET], 0, Pacing(40, moved_at=NOW - SETTLE_SECONDS + 1), 40),
        ([], 0, Pacing(40), 50),
        ([], 3, Pacing(40), 24),
        ([QUIET], 3, Pacing(40), 24),
        ([QUIET], 3, Pacing(40, moved_at=NOW - 60), 40),
        ([QUIET], 3, Pacing(1), 1),
        ([replace(QUIET, io_percent=90.0)], 0, Pacing(40), 24),
        ([replace(QUIET, io_percent=75.0)], 0, Pacing(40), 40),
        ([replace(QUIET, used=0.9 * 1024 * MIB)], 0, Pacing(40), 40),
        ([replace(QUIET, io_percent=None)], 0, Pacing(40), 20),
        ([replace(QUIET, used=None)], 0, Pacing(10), 10),
        ([QUIET, replace(QUIET, io_percent=95.0)], 0, Pacing(40), 24),
    ],
)
def test_the_concurrency_is_that_of_the_table(seen: list[Observed], throttled: int, before: Pacing, after: int) -> None:
    decided = decide(NOW, before, seen, throttled, BOUNDS)
    assert decided.concurrency == after and decided.reason
    assert decided.moved_at == (before.moved_at if after == before.concurrency else NOW)
    assert decided.bytes_per_second is None


@pytest.mark.parametrize(
    ("credits", "age", "others", "least", "most"),
    [
        (None, 0.0, 0.0, baseline(SIZE), baseline(SIZE)),
        (0.0, 0.0, 0.0, LEAST_RATE, LEAST_RATE),
        (0.005, 0.0, 0.0, baseline(SIZE) / 2, baseline(SIZE) / 2),
        (0.20, 0.0, 0.0, baseline(SIZE), baseline(SIZE)),
        (1.0, 0.0, 0.0, burst(SIZE), burst(SIZE)),
        (0.25, 3600.0, 0.0, baseline(SIZE), baseline(SIZE)),
        (0.25, 24 * 3600.0, 0.0, LEAST_RATE, LEAST_RATE),
        (0.0, 0.0, 100 * MIB, LEAST_RATE, LEAST_RATE),
        (0.30, 0.0, 0.0, 1.05 * baseline(SIZE), 0.9 * burst(SIZE)),
    ],
)
def test_the_rate_keeps_the_reserve(
    credits: float | None, age: float, others: float, least: float, most: float
) -> None:
    state = replace(BURSTING, others_bytes_per_second=others)
    known = None if credits is None else credits * most_credits(SIZE)
    seen = Observed("data", state, 1_000 * GB, credits=known, credits_age=age, io_percent=0.0, used=0.0)
    decided = decide(NOW, Pacing(20), [seen], 0, BOUNDS)
    assert decided.bytes_per_second is not None
    assert least * 0.999 <= decided.bytes_per_second <= most * 1.001
    assert decided.concurrency <= functions_for(decided.bytes_per_second)


def test_a_file_system_that_is_read_counts_a_third() -> None:
    seen = Observed("data", BURSTING, 1_000 * GB, credits=0.0, io_percent=0.0, used=0.0)
    written, read = (decide(NOW, Pacing(20), [replace(seen, rate_per_metered=x)], 0, BOUNDS) for x in (1.0, 3.0))
    assert read.bytes_per_second == pytest.approx(3 * (written.bytes_per_second or 0.0))


def test_others_who_come_later_are_seen_by_what_is_used() -> None:
    seen = Observed("data", BURSTING, 1_000 * GB, credits=0.9 * most_credits(SIZE), io_percent=0.0, used=0.0, ours=0.0)
    alone = decide(NOW, Pacing(20), [seen], 0, BOUNDS).bytes_per_second
    beside = decide(NOW, Pacing(20), [replace(seen, used=50.0 * MIB)], 0, BOUNDS).bytes_per_second
    assert alone is not None and beside is not None and beside < alone


@given(st.floats(0, 1), st.floats(0, 86_400))
def test_older_credits_are_fewer(share: float, age: float) -> None:
    seen = Observed("data", BURSTING, 1.0, credits=share * most_credits(SIZE), credits_age=age)
    assert 0.0 <= credits_left(seen) <= credits_left(replace(seen, credits_age=0.0)) == share * most_credits(SIZE)


def test_a_rate_of_the_request_needs_few_functions() -> None:
    decided = decide(NOW, Pacing(40), [QUIET], 0, replace(BOUNDS, bytes_per_second=10.0 * MIB))
    assert decided.concurrency == 2


def test_a_tenth_of_the_credits_of_100_gb_is_never_driven_to_zero() -> None:
    """With no reserve asked for, all of it is spent by the end, and hardly any time is lost."""
    simulation = Simulation(credits_percent=10.0, reserve_percent=0.0)
    best = simulation.optimum()
    took = simulation.run()
    assert simulation.done >= simulation.todo
    assert simulation.lowest > 0.0
    assert took <= 1.03 * best


@pytest.mark.parametrize(
    ("credits_percent", "reserve_percent"), [(10.0, 20.0), (10.0, 5.0), (60.0, 20.0), (100.0, 20.0)]
)
@pytest.mark.parametrize("lag", [60.0, 300.0])
def test_the_reserve_is_kept_and_little_time_is_lost(
    credits_percent: float, reserve_percent: float, lag: float
) -> None:
    simulation = Simulation(credits_percent=credits_percent, reserve_percent=reserve_percent, lag=lag, todo=3_000 * GB)
    kept = min(simulation.credits, reserve_bytes(simulation.state, reserve_percent))
    best = simulation.optimum()
    took = simulation.run(hours=1000)
    assert simulation.lowest >= kept * 0.999
    assert took <= 1.05 * best


LAGS = st.sampled_from([60.0, 180.0, 420.0])


@settings(max_examples=30, deadline=None)
@given(credits=st.floats(1, 100), lag=LAGS, busy=st.floats(0, 3.7))
def test_credits_are_never_driven_to_zero(credits: float, lag: float, busy: float) -> None:
    """Where others leave ``LEAST_RATE`` of the 4.77 MiB/s that are earned, and no reserve is asked for."""
    simulation = Simulation(credits_percent=credits, reserve_percent=0.0, lag=lag, others=half_hours(busy))
    simulation.todo = 500 * GB
    simulation.run(hours=100)
    assert simulation.lowest > 0.0
    assert simulation.done >= simulation.todo


@settings(max_examples=30, deadline=None)
@given(
    credits=st.floats(5, 100),
    lag=LAGS,
    busy=st.floats(0, 3.7),
    silent=st.tuples(st.floats(0, 20), st.floats(0, 5)),
)
def test_a_reserve_lasts_through_hours_without_metrics(
    credits: float, lag: float, busy: float, silent: tuple[float, float]
) -> None:
    """What others use while CloudWatch is silent for up to 5 hours nobody knows; a reserve of 5 % is more than that."""
    start, hours = silent
    simulation = Simulation(
        credits_percent=credits,
        reserve_percent=5.0,
        lag=lag,
        others=half_hours(busy),
        silent=(start * 3600, (start + hours) * 3600),
        todo=500 * GB,
    )
    simulation.run(hours=100)
    assert simulation.lowest > 0.0
    assert simulation.done >= simulation.todo


def half_hours(mebibytes: float) -> Callable[[float], float]:
    """Others that use so many MiB/s in every second half hour."""
    return lambda now: mebibytes * MIB if (now // 1800) % 2 else 0.0


def test_functions_grow_to_the_limit_of_operations_and_stay_below_it() -> None:
    simulation = Simulation(
        mode=ThroughputMode.ELASTIC, iops_at=60, planned=10, most=100, todo=40_000 * GB, permitted=1e12
    )
    simulation.run(hours=3)
    later = [row for row in simulation.trace if row[0] > 3600]
    assert max(percent for *_, percent in later) < 100.0
    assert min(percent for *_, percent in later) >= 45.0


def test_a_provisioned_file_system_is_filled_and_no_more() -> None:
    simulation = Simulation(
        mode=ThroughputMode.PROVISIONED, permitted=300.0 * MIB, planned=2, most=100, todo=2_000 * GB
    )
    took = simulation.run(hours=20)
    assert took <= 1.1 * simulation.todo / simulation.permitted
    assert max(concurrency for _, _, concurrency, _ in simulation.trace) <= 8


LEFT = 10_000.0
LATE, IN_TIME, EARLY = (ExpectedEnd(NOW + LEFT * share, NOW + LEFT) for share in (1.2, 0.85, 0.5))


@pytest.mark.parametrize(
    ("seen", "throttled", "before", "progress", "after", "why"),
    [
        ([QUIET], 0, Pacing(40), LATE, 50, "behind limits.finish_by: there is room"),
        ([], 0, Pacing(40), LATE, 50, "behind limits.finish_by: there is room"),
        ([QUIET], 0, Pacing(40), IN_TIME, 40, "in time for limits.finish_by"),
        ([QUIET], 0, Pacing(40), EARLY, 32, "ahead of limits.finish_by"),
        ([QUIET], 0, Pacing(22), EARLY, 20, "ahead of limits.finish_by"),
        ([QUIET], 0, Pacing(20), EARLY, 20, "in time"),
        ([QUIET], 0, Pacing(40, moved_at=NOW - SETTLE_SECONDS + 1), EARLY, 40, ""),
        # The guards come first, however late it is.
        ([replace(QUIET, io_percent=95.0)], 0, Pacing(40), LATE, 24, "PercentIOLimit 95"),
        ([QUIET], 3, Pacing(40), LATE, 24, "throttled"),
        ([replace(QUIET, io_percent=80.0)], 0, Pacing(40), LATE, 40, "behind limits.finish_by: data: PercentIOLimit"),
        ([replace(QUIET, used=None)], 0, Pacing(40), LATE, 20, "metrics are late"),
        ([QUIET], 0, Pacing(100), LATE, 100, "behind limits.finish_by"),
    ],
)
def test_a_time_to_end_by_moves_the_concurrency_between_the_plan_and_the_guards(
    seen: list[Observed], throttled: int, before: Pacing, progress: ExpectedEnd, after: int, why: str
) -> None:
    decided = decide(NOW, before, seen, throttled, BOUNDS, progress)
    assert decided.concurrency == after and why in decided.reason


def test_credits_are_kept_however_late_it_is() -> None:
    state = replace(BURSTING, credits_bytes=0.3 * most_credits(SIZE))
    seen = [Observed("data", state, 1_000 * GB, credits=0.3 * most_credits(SIZE), io_percent=0.0, used=0.0)]
    late, calm = (decide(NOW, Pacing(20), seen, 0, BOUNDS, one) for one in (LATE, None))
    assert late.bytes_per_second == calm.bytes_per_second and late.concurrency == calm.concurrency
