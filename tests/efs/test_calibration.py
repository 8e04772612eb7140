"""What a plan takes from a probe: rates of a function, and the limit of the file system."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.calibration import Calibration, calibrated_rates, calibration_of, calibration_row
from fanout.facts import limits
from fanout.facts.limits import MIB
from fanout.model.errors import InvalidRequest
from fanout.shards.seconds import DEFAULT_RATES

FOUND = Calibration(
    write_bytes_per_second_client=60.0 * MIB,
    write_bytes_per_second_file=50.0 * MIB,
    read_bytes_per_second_client=70.0 * MIB,
    create_seconds=0.0025,
    small_write_seconds=0.0075,
    creations_per_second_directory=400.0,
    functions={1: 60.0 * MIB, 2: 110.0 * MIB, 4: 115.0 * MIB},
    probe="probe-1",
    at=1000.0,
)


def document(**calibration: Any) -> dict[str, Any]:
    row = calibration_row(FOUND) | calibration
    return {"schema_version": 1, "probe_id": "probe-1", "ended_at": 1000.0, "calibration": row}


def test_what_is_written_is_read() -> None:
    assert calibration_of(json.loads(json.dumps(document()))) == FOUND


def test_a_probe_that_did_not_get_that_far_calibrates_nothing() -> None:
    assert calibration_of({"schema_version": 1, "calibration": None}) is None


@pytest.mark.parametrize(
    ("probe", "field"),
    [
        ([], "probe.calibration"),
        ({}, "probe.calibration"),
        ({"schema_version": 2, "calibration": {}}, "probe.schema_version"),
        ({"schema_version": 1, "calibration": []}, "probe.calibration"),
        (document(create_seconds=0), "probe.calibration.create_seconds"),
        (document(create_seconds=True), "probe.calibration.create_seconds"),
        (document(create_seconds=float("nan")), "probe.calibration.create_seconds"),
        (document(small_write_seconds=None), "probe.calibration.small_write_seconds"),
        (document(functions=None), "probe.calibration.functions"),
        (document(functions={"one": 1}), "probe.calibration.functions"),
        (document(functions={"1": -1}), "probe.calibration.functions.1"),
    ],
)
def test_what_is_no_probe_is_refused_by_its_field(probe: Any, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        calibration_of(probe)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("functions", "limit"),
    [
        ({}, None),
        ({1: 50.0}, None),
        ({1: 50.0, 2: 100.0}, None),  # twice as much: more functions would write more
        ({1: 50.0, 2: 62.5}, None),
        ({1: 50.0, 2: 62.0}, 62.0),
        ({1: 50.0, 2: 100.0, 4: 110.0, 8: 105.0}, 110.0),
        ({1: 50.0, 2: 60.0, 4: 120.0}, None),  # the last step counts
    ],
)
def test_the_limit_of_the_file_system_is_where_more_functions_gain_little(
    functions: dict[int, float], limit: float | None
) -> None:
    assert replace(FOUND, functions=functions).limit_bytes_per_second == limit


def test_without_a_calibration_the_published_figures_count() -> None:
    assert calibrated_rates(DEFAULT_RATES, None, None) == DEFAULT_RATES


def test_an_entry_costs_the_operations_that_a_copy_has() -> None:
    rates = calibrated_rates(DEFAULT_RATES, None, FOUND)
    assert rates.seconds_per_entry == pytest.approx(5.5 * 0.0025 / 64)
    assert rates.bytes_per_second == 60 * MIB


RATE = st.floats(min_value=1.0, max_value=1e10)


@given(read=RATE, written=RATE)
def test_bytes_pass_the_slower_end_and_the_network_of_a_function(read: float, written: float) -> None:
    source = replace(FOUND, read_bytes_per_second_client=read)
    destination = replace(FOUND, write_bytes_per_second_client=written)
    network = limits.LAMBDA_NETWORK_BYTES_PER_SECOND
    both = calibrated_rates(DEFAULT_RATES, source, destination)
    assert both.bytes_per_second == min(read, written, network)
    only = calibrated_rates(DEFAULT_RATES, source, None)
    assert (only.bytes_per_second, only.seconds_per_entry) == (min(read, network), DEFAULT_RATES.seconds_per_entry)
