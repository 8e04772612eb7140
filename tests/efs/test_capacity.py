"""The EFS model: closed forms against simulated seconds, and the figures that AWS states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.capacity import (
    FileSystemState,
    Load,
    baseline,
    burst,
    drain,
    iops_seconds,
    kept_rate,
    left_for_run,
    most_credits,
    published,
)
from fanout.facts.units import GIB, KIB, MIB
from fanout.model.file_system import ThroughputMode

TIB = 1024 * GIB
BURSTING = FileSystemState(ThroughputMode.BURSTING, 100 * MIB, standard_bytes=100 * GIB, credits_bytes=2.1 * TIB)
ELASTIC = FileSystemState(ThroughputMode.ELASTIC, float(GIB))


def simulated(state: FileSystemState, metered: float, rate: float, step: float = 0.5) -> tuple[float, float]:
    """Seconds and credits left, half second by half second: what EFS does, without any formula of the model's."""
    assert state.credits_bytes is not None
    left, credits, time = metered, state.credits_bytes, 0.0
    while left > 1e-3:
        permitted = burst(state.standard_bytes) if credits > 0 else baseline(state.standard_bytes)
        mine = min(rate, left_for_run(state, permitted))
        gain = baseline(state.standard_bytes) - mine - state.others_bytes_per_second
        part = min(step, left / mine, -credits / gain if gain < 0 and credits > 0 else step)
        credits += gain * part
        credits = credits if credits > 1 else 0.0
        credits = min(max(0.0, credits), most_credits(state.standard_bytes))
        left -= mine * part
        time += part
    return time, credits


@pytest.mark.parametrize(
    ("standard_gib", "earned_mib", "burst_mib", "credits_tib"),
    [(0, 1, 100, 2.1), (10, 1, 100, 2.1), (100, 4.8828125, 100, 2.1), (1024, 50, 100, 2.1), (10240, 500, 1000, 21)],
)
def test_a_bursting_file_system_is_as_large_as_aws_says(
    standard_gib: int, earned_mib: float, burst_mib: float, credits_tib: float
) -> None:
    size = standard_gib * GIB
    assert baseline(size) == pytest.approx(earned_mib * MIB)
    assert burst(size) == pytest.approx(burst_mib * MIB)
    assert most_credits(size) == pytest.approx(credits_tib * TIB)


def test_100_gib_earn_72_minutes_of_burst_a_day() -> None:
    earned = baseline(100 * GIB) * 86_400
    assert earned / burst(100 * GIB) / 60 == pytest.approx(72, rel=0.03)


@pytest.mark.parametrize(
    ("mode", "size", "provisioned", "one_zone", "permitted"),
    [
        (ThroughputMode.BURSTING, 0, 0, False, 100 * MIB),
        (ThroughputMode.BURSTING, 40 * TIB, 0, False, GIB),
        (ThroughputMode.PROVISIONED, 0, 256 * MIB, False, 256 * MIB),
        (ThroughputMode.PROVISIONED, 10 * TIB, 256 * MIB, False, 500 * MIB),
        (ThroughputMode.ELASTIC, 0, 0, False, GIB),
        (ThroughputMode.ELASTIC, 0, 0, True, GIB),
        (ThroughputMode.ASSUMED, 0, 0, False, 100 * MIB),
    ],
)
def test_what_a_mode_permits(
    mode: ThroughputMode, size: int, provisioned: float, one_zone: bool, permitted: float
) -> None:
    assert published(mode, size, provisioned, one_zone) == pytest.approx(permitted)


def test_operations_of_reading_and_writing_add_up_and_leave_room_for_others() -> None:
    load = Load(read_operations=90_000, written_operations=50_000)
    assert iops_seconds(ELASTIC, load) == pytest.approx(2)
    assert iops_seconds(replace(ELASTIC, others_iops_share=0.5), load) == pytest.approx(4)
    assert iops_seconds(replace(ELASTIC, others_iops_share=1.0), load) == pytest.approx(20)
    assert iops_seconds(replace(ELASTIC, one_zone=True), load) == pytest.approx(90 / 35 + 50 / 7)


def test_what_is_read_counts_a_third() -> None:
    assert Load(read_bytes=3 * KIB, written_bytes=KIB).metered_bytes == pytest.approx(2 * KIB)


def test_hours_of_a_bursting_file_system() -> None:
    """Of 10 GiB with 100 GiB of credits: 100 MiB/s for 17 minutes, and then 1 MiB/s."""
    state = replace(BURSTING, standard_bytes=10 * GIB, credits_bytes=100.0 * GIB)
    found = drain(state, 110 * GIB, 500 * MIB)
    assert found.empty_seconds == pytest.approx(100 * 1024 / 99)
    assert found.empty_share == pytest.approx(100 * 100 / 99 / 110)
    assert found.seconds == pytest.approx(1034.34 + (110 - 101.0101) * 1024, rel=1e-4)
    assert found.seconds == pytest.approx(simulated(state, 110 * GIB, 500 * MIB)[0], rel=0.01)


states = st.builds(
    lambda size, credits, others: FileSystemState(
        ThroughputMode.BURSTING,
        100 * MIB,
        standard_bytes=size * GIB,
        credits_bytes=credits * GIB,
        others_bytes_per_second=others * baseline(size * GIB),
    ),
    st.integers(0, 3000),
    st.floats(0, 300),
    st.floats(0, 0.9),
)


@given(states, st.floats(1, 300), st.floats(5, 400))
def test_the_closed_form_is_what_second_by_second_comes_to(
    state: FileSystemState, metered_gib: float, rate_mib: float
) -> None:
    found = drain(state, metered_gib * GIB, rate_mib * MIB)
    seconds, credits = simulated(state, metered_gib * GIB, rate_mib * MIB, step=max(0.5, found.seconds / 4000))
    assert found.seconds == pytest.approx(seconds, rel=0.02, abs=1)
    assert found.credits_end == pytest.approx(credits, rel=0.02, abs=300 * MIB)


@given(states, st.floats(1, 300), st.floats(0, 100))
def test_the_kept_rate_leaves_the_reserve_or_spends_nothing(
    state: FileSystemState, metered_gib: float, reserve_gib: float
) -> None:
    assert state.credits_bytes is not None
    rate = kept_rate(state, metered_gib * GIB, reserve_gib * GIB)
    end = drain(state, metered_gib * GIB, rate).credits_end
    assert end >= min(reserve_gib * GIB, state.credits_bytes) * (1 - 1e-9) - 1
    assert left_for_run(state, baseline(state.standard_bytes)) <= rate <= burst(state.standard_bytes)


@given(states, st.floats(1, 300), st.floats(5, 400))
def test_a_faster_client_is_never_later(state: FileSystemState, metered_gib: float, rate_mib: float) -> None:
    slower, faster = (drain(state, metered_gib * GIB, rate * MIB).seconds for rate in (rate_mib, rate_mib * 2))
    assert faster <= slower * (1 + 1e-9)


def test_others_are_left_what_they_use() -> None:
    busy = replace(ELASTIC, others_bytes_per_second=0.75 * GIB)
    assert drain(busy, GIB, 10 * GIB).seconds == pytest.approx(4)
    assert drain(replace(busy, others_bytes_per_second=2.0 * GIB), GIB, 10 * GIB).seconds == pytest.approx(10)
