"""The state of a file system from what was measured: the truth table, cell by cell."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fanout.efs.measurement import LATE_SECONDS, state_of
from fanout.facts.units import GIB, MIB
from fanout.model.file_system import CREDITS, IO_LIMIT, METERED, PERMITTED, Described, Reading, ThroughputMode

NOW = 1_000_000.0
LATE = NOW - LATE_SECONDS - 60
BURSTING = Described(ThroughputMode.BURSTING, "generalPurpose", False, 100 * GIB, 7 * GIB, 3 * GIB, 0)
ALL = {
    CREDITS: [Reading(NOW - 60, 50.0 * GIB), Reading(NOW - 120, 90.0 * GIB)],
    PERMITTED: [Reading(NOW - 60, 80.0 * MIB)],
    IO_LIMIT: [Reading(NOW - 60, 10.0), Reading(NOW - 600, 30.0)],
    METERED: [Reading(NOW - 60, 60.0 * MIB), Reading(NOW - 120, 600.0 * MIB), Reading(LATE, 6000.0 * MIB)],
}


def without(name: str) -> dict[str, list[Reading]]:
    return {key: rows for key, rows in ALL.items() if key != name}


def late(name: str) -> dict[str, list[Reading]]:
    return {**ALL, name: [Reading(LATE, ALL[name][0].value)]}


def test_what_is_there_is_taken() -> None:
    state = state_of(BURSTING, ALL, NOW)
    assert state.credits_bytes == 50 * GIB
    assert state.permitted_bytes_per_second == 80 * MIB
    assert state.others_iops_share == pytest.approx(0.3)
    assert state.others_bytes_per_second == pytest.approx(10 * MIB)
    assert (state.stored_bytes, state.standard_bytes) == (110 * GIB, 100 * GIB)
    assert state.assumptions == ()


def test_credits_that_are_missing_are_none_and_late_ones_are_spent() -> None:
    missing = state_of(BURSTING, without(CREDITS), NOW)
    assert missing.credits_bytes == 0
    found = state_of(BURSTING, late(CREDITS), NOW)
    spent = (100 - 4.8828125) * MIB * (LATE_SECONDS + 60)
    assert found.credits_bytes == pytest.approx(max(0, 50 * GIB - spent))
    rich = {**ALL, CREDITS: [Reading(LATE, 500.0 * GIB)]}
    assert state_of(BURSTING, rich, NOW).credits_bytes == pytest.approx(500 * GIB - spent)
    assert all(len(state.assumptions) == 1 and CREDITS in state.assumptions[0] for state in (missing, found))


@pytest.mark.parametrize("readings", [without(PERMITTED), late(PERMITTED)])
def test_a_rate_that_is_missing_or_late_is_the_published_one(readings: dict[str, list[Reading]]) -> None:
    assert state_of(BURSTING, readings, NOW).permitted_bytes_per_second == 100 * MIB
    poor = {**readings, CREDITS: [Reading(NOW, 0.0)]}
    assert state_of(BURSTING, poor, NOW).permitted_bytes_per_second == pytest.approx(4.8828125 * MIB)
    assert PERMITTED in state_of(BURSTING, readings, NOW).assumptions[0]


def test_a_rate_is_not_believed_over_its_mode() -> None:
    much = {**ALL, PERMITTED: [Reading(NOW, 5000.0 * MIB)]}
    assert state_of(BURSTING, much, NOW).permitted_bytes_per_second == 100 * MIB


@pytest.mark.parametrize("name", [IO_LIMIT, METERED])
@pytest.mark.parametrize("change", [without, late])
def test_use_that_is_not_known_is_half(name: str, change: object) -> None:
    assert callable(change)
    state = state_of(BURSTING, change(name), NOW)
    halved = state.others_iops_share if name == IO_LIMIT else state.others_bytes_per_second / (80 * MIB)
    assert halved == 0.5
    assert len(state.assumptions) == 1 and name in state.assumptions[0]


@pytest.mark.parametrize("mode", [ThroughputMode.ELASTIC, ThroughputMode.PROVISIONED])
def test_other_modes_have_no_credits_and_miss_none(mode: ThroughputMode) -> None:
    described = replace(BURSTING, mode=mode, provisioned_bytes_per_second=128 * MIB)
    state = state_of(described, without(CREDITS), NOW)
    assert state.credits_bytes is None
    assert state.assumptions == ()
