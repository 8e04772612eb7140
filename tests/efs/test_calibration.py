"""What a plan takes from a probe: rates of a function, and the limit of the file system."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fanout.efs.calibration import Calibration, calibrated_rates
from fanout.efs.probe_result import ProbeResult
from fanout.efs.seconds import DEFAULT_RATES
from fanout.facts import aws
from fanout.facts.operations import OPERATIONS_PER_FILE
from fanout.facts.units import MIB
from fanout.ledger.documents import document_of
from tests.support.probe_results import probe_json

FOUND = Calibration(
    write_bytes_per_second_client=60.0 * MIB,
    write_bytes_per_second_file=50.0 * MIB,
    read_bytes_per_second_client=70.0 * MIB,
    create_seconds=0.0025,
    small_write_seconds=0.0075,
    creations_per_second_directory=400.0,
    functions={1: 60.0 * MIB, 2: 110.0 * MIB, 4: 115.0 * MIB},
)


def document(**calibration: Any) -> dict[str, Any]:
    found = probe_json(FOUND)
    return found | {"calibration": found["calibration"] | calibration}


@pytest.mark.parametrize("found", [FOUND, None])
def test_what_is_written_is_read(found: Calibration | None) -> None:
    assert document_of(json.loads(json.dumps(probe_json(found))), ProbeResult).calibration == found


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ([], "schema version is None"),
        (document() | {"schema_version": 3}, "schema version is 3"),
        ({"schema_version": 2}, "missing required field `probe_id`"),
        (document() | {"calibration": []}, r"`\$.calibration`"),
        (document(create_seconds=0), r"`\$.calibration.create_seconds`"),
        (document(create_seconds=True), r"`\$.calibration.create_seconds`"),
        (document(create_seconds=float("nan")), r"`\$.calibration.create_seconds`"),
        (document(create_seconds=float("inf")), r"`\$.calibration.create_seconds`"),
        (document(small_write_seconds=None), r"`\$.calibration.small_write_seconds`"),
        (document(functions=None), r"`\$.calibration.functions`"),
        (document(functions={"one": 1}), r"`key` in `\$.calibration.functions`"),
        (document(functions={"1": -1}), r"`\$.calibration.functions"),
    ],
)
def test_what_is_no_probe_is_refused_by_its_field(probe: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        document_of(json.loads(json.dumps(probe)), ProbeResult)


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
    assert rates.seconds_per_entry == pytest.approx(OPERATIONS_PER_FILE * 0.0025 / 64)
    assert rates.bytes_per_second == 60 * MIB


RATE = st.floats(min_value=1.0, max_value=1e10)


@given(read=RATE, written=RATE)
def test_bytes_pass_the_slower_end_and_the_network_of_a_function(read: float, written: float) -> None:
    source = replace(FOUND, read_bytes_per_second_client=read)
    destination = replace(FOUND, write_bytes_per_second_client=written)
    network = aws.LAMBDA_NETWORK_BYTES_PER_SECOND
    both = calibrated_rates(DEFAULT_RATES, source, destination)
    assert both.bytes_per_second == min(read, written, network)
    only = calibrated_rates(DEFAULT_RATES, source, None)
    assert (only.bytes_per_second, only.seconds_per_entry) == (min(read, network), DEFAULT_RATES.seconds_per_entry)
