"""How many functions a run gets: the truth table, row by row, and what holds for every file system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState, Load, baseline, drain, most_credits, reserve_bytes
from fanout.facts.operations import OPERATIONS_PER_FILE
from fanout.facts.tuning import CLIENT_OPERATIONS_IN_FLIGHT
from fanout.facts.units import GIB, MIB
from fanout.model.file_system import ThroughputMode
from fanout.model.shard import Rates
from fanout.pacing.concurrency import SURE_RATES, Pace, limit_seconds, pace, rates_at

BEST = Rates(seconds_per_entry=0.0002, bytes_per_second=80.0 * MIB)
THREADS = CLIENT_OPERATIONS_IN_FLIGHT
ELASTIC = FileSystemState(ThroughputMode.ELASTIC, float(GIB))
FULL = most_credits(0)
BURSTING = FileSystemState(ThroughputMode.BURSTING, 100.0 * MIB, standard_bytes=100 * GIB, credits_bytes=FULL)


def written(entries: int, size: float) -> Load:
    return Load(written_operations=OPERATIONS_PER_FILE * entries + size / MIB, written_bytes=size)


def paced(state: FileSystemState | None, size: int, most: int = 1000, percent: float = 20, entries: int = 0) -> Pace:
    states = {} if state is None else {"data": state}
    return pace(entries, size, {"data": written(entries, size)}, states, most, percent, BEST)


@pytest.mark.parametrize(
    ("state", "gib", "functions", "threads"),
    [
        (None, 1000, 1000, THREADS),  # not measured: the most
        (ELASTIC, 1000, 14, THREADS),  # 1,024 MiB/s over the 74.4 of a function, rounded up
        (replace(ELASTIC, others_bytes_per_second=0.5 * GIB), 1000, 7, THREADS),  # half of it is others'
        (replace(ELASTIC, permitted_bytes_per_second=30.0 * MIB), 1000, 1, 26),  # 30 of 74.4: 26 of 64 threads
        (replace(ELASTIC, probed_bytes_per_second=300.0 * MIB), 1000, 5, THREADS),  # what a probe reached
        (BURSTING, 100, 1, THREADS),  # 100 MiB/s over the 80 of a function at its best, rounded down
        (replace(BURSTING, credits_bytes=0.0), 100, 1, 4),  # 4.9 MiB/s, the baseline
        (replace(BURSTING, credits_bytes=FULL / 5), 100, 1, 4),  # all that is left is the reserve
    ],
)
def test_the_table(state: FileSystemState | None, gib: int, functions: int, threads: int) -> None:
    found = paced(state, gib * GIB)
    assert (found.max_concurrency, found.threads) == (functions, threads)


def test_operations_bind_where_files_are_small() -> None:
    entries = 1_000_000
    found = paced(ELASTIC, entries * 4096, entries=entries)
    assert found.floor_seconds == pytest.approx((OPERATIONS_PER_FILE * entries + entries / 256) / 50_000)
    assert found.max_concurrency == 28  # 8,063 files/s over 294 of a function


def test_two_file_systems_are_paced_by_the_slower_one() -> None:
    slow = replace(ELASTIC, permitted_bytes_per_second=100.0 * MIB)
    loads = {"data": written(0, 100.0 * GIB), "archive": Load(read_bytes=100.0 * GIB)}
    found = pace(0, 100 * GIB, loads, {"data": slow, "archive": ELASTIC}, 1000, 20, BEST)
    assert found == pace(0, 100 * GIB, loads, {"data": slow}, 1000, 20, BEST)


def test_nothing_to_copy_needs_no_pace() -> None:
    assert paced(ELASTIC, 0) == Pace(1000, THREADS, BEST.bytes_per_second, 0.0)


def test_fewer_threads_make_files_slower_and_bytes_not() -> None:
    assert rates_at(BEST, THREADS) == BEST
    half = rates_at(BEST, THREADS // 2)
    assert half.seconds_per_entry == pytest.approx(2 * BEST.seconds_per_entry)
    assert half.bytes_per_second == BEST.bytes_per_second


states = st.builds(
    lambda mode, permitted, size, credits, others: FileSystemState(
        mode,
        permitted * MIB,
        standard_bytes=size * GIB,
        credits_bytes=credits * most_credits(size * GIB) if mode is ThroughputMode.BURSTING else None,
        others_bytes_per_second=others * min(permitted * MIB, baseline(size * GIB)),
    ),
    st.sampled_from([ThroughputMode.BURSTING, ThroughputMode.ELASTIC, ThroughputMode.PROVISIONED]),
    st.floats(1, 2000),
    st.integers(0, 3000),
    st.floats(0, 1),
    st.floats(0, 0.9),
)


@given(states, st.integers(1, 5000), st.integers(1, 1000), st.floats(0, 100), st.integers(0, 10**6))
def test_a_pace_is_within_what_is_allowed(
    state: FileSystemState, gib: int, most: int, percent: float, entries: int
) -> None:
    found = paced(state, gib * GIB, most, percent, entries)
    assert 1 <= found.max_concurrency <= most
    assert 1 <= found.threads <= THREADS
    assert 0 < found.bytes_per_second <= BEST.bytes_per_second
    assert found.floor_seconds > 0


@given(states, st.integers(1, 5000), st.integers(0, 10**6))
def test_enough_functions_reach_the_limit_and_one_less_would_not(
    state: FileSystemState, gib: int, entries: int
) -> None:
    """Of a file system without credits, if functions are as slow as they are taken to be."""
    if state.credits_bytes is not None:
        return
    found = paced(state, gib * GIB, 10**6, 0, entries)
    of_one = SURE_RATES.seconds(entries, gib * GIB)
    assert of_one / found.max_concurrency <= found.floor_seconds * (1 + 1e-9)
    if found.max_concurrency > 1:
        assert of_one / (found.max_concurrency - 1) > found.floor_seconds * (1 - 1e-9)


@given(states, st.integers(1, 5000), st.floats(0, 100))
def test_functions_at_their_best_leave_the_reserve_unless_one_alone_is_too_fast(
    state: FileSystemState, gib: int, percent: float
) -> None:
    """Then bytes a second of it would have to be held."""
    if state.credits_bytes is None:
        return
    found = paced(state, gib * GIB, 10**6, percent)
    left = drain(state, gib * GIB, found.max_concurrency * found.bytes_per_second).credits_end
    kept = min(state.credits_bytes, reserve_bytes(state, percent))
    assert left >= kept * (1 - 1e-6) - 1


@given(states, st.integers(1, 5000), st.floats(0, 99))
def test_a_higher_reserve_never_makes_it_faster(state: FileSystemState, gib: int, percent: float) -> None:
    load = written(0, gib * GIB)
    lower, higher = (max(limit_seconds(state, load, value)) for value in (percent, percent + 1))
    assert higher >= lower * (1 - 1e-9)
