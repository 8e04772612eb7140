"""Options of a request that cost operations, reads or time of their own: each against the same run without it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fanout.efs.calibration import Calibration, rates_of
from fanout.efs.load import Work, loads_of, loads_to_verify, requests_of, requests_to_verify
from fanout.facts.prices import prices_with
from fanout.facts.units import MIB
from fanout.forecast.datasync import datasync_of
from fanout.forecast.deleting import deleting_of, deletion_loads
from fanout.forecast.document import forecast_document
from fanout.forecast.estimate import Known, estimate, idle_state
from fanout.forecast.forecast import Forecast
from fanout.forecast.pauses import paused_seconds
from fanout.model.books import Count
from fanout.model.file_system import ThroughputMode
from fanout.request.parse import parse_request
from fanout.request.request import Request

S3, DATA = "s3://my-data/in/", "efs:///copy"
FILES = 1_000
WORK = Work(FILES, FILES, FILES * MIB, shards=4, longest_seconds=0.0)
BETWEEN = {"source": "efs:///a", "destination": "efs://other/b"}
OWNER = {"attributes": {"uid": 1000, "gid": 1000, "file_mode": "0640", "override": True}}
MODE = {"attributes": {"file_mode": "0640", "mtime": "now"}}
KEPT = {"backup_to": "efs:///kept"}
STATES = {"data": idle_state(ThroughputMode.ELASTIC), "other": idle_state(ThroughputMode.ELASTIC)}
PRICE = prices_with({})
NIGHT = "22:00-06:00 UTC"


def asked(**fields: Any) -> Request:
    return parse_request({"source": S3, "destination": DATA, **fields}, ("data", "other"), 100)


def written(**fields: Any) -> float:
    return loads_of(asked(**fields), WORK)["data"].written_operations / FILES - 1  # a MiB is one more


def predicted(entries: int = 100_000, **fields: Any) -> Forecast:
    return estimate(asked(**fields), Known(entries, entries * 10_000, states=STATES))


@pytest.mark.parametrize(
    ("fields", "operations"),
    [
        ({}, 5.5),
        (OWNER, 7.5),
        ({"attributes": {"gid": 7}}, 7.5),
        (MODE, 5.5),
        ({"overwrite": "never"}, 6.5),
        ({"overwrite": "if-newer"}, 6.5),
        (KEPT, 8.5),
        ({**KEPT, **OWNER, "overwrite": "if-newer"}, 10.5),
        ({"older_than": "30d"}, 5.5),
        ({"newer_than": "6h"}, 5.5),
    ],
)
def test_operations_of_a_file_by_hand(fields: dict[str, Any], operations: float) -> None:
    assert written(**fields) == pytest.approx(operations)
    more = rates_of(asked(**fields), {}).seconds_per_entry / rates_of(asked(), {}).seconds_per_entry
    assert more == pytest.approx(operations / 5.5)


def test_more_operations_take_as_long_as_the_probe_found_and_none_in_a_bucket() -> None:
    probed = Calibration(
        60e6, 60e6, 70e6, create_seconds=0.0064, small_write_seconds=0.01, creations_per_second_directory=9
    )
    found = [rates_of(asked(**fields), {"data": probed}).seconds_per_entry for fields in ({}, OWNER)]
    assert found[1] - found[0] == pytest.approx(2 * 0.0064 / 64)
    back = {"source": "efs:///a", "destination": "s3://my-results/out/"}
    assert rates_of(asked(**back, overwrite="never"), {}) == rates_of(asked(**back), {})


@pytest.mark.parametrize("fields", [OWNER, KEPT, {"overwrite": "never"}])
def test_more_operations_cost_more_seconds_and_metering_but_none_of_datasync_s(fields: dict[str, Any]) -> None:
    plain, more = predicted(), predicted(**fields)
    assert more.dollars.efs > plain.dollars.efs
    assert more.seconds["copy"] >= plain.seconds["copy"]
    assert more.datasync == plain.datasync
    slow: dict[str, Any] = {"limits": {"max_concurrency": 1}}
    assert predicted(**fields, **slow).seconds["copy"] > predicted(**slow).seconds["copy"]


def test_a_deletion_with_a_backup_takes_one_write_more() -> None:
    both = [asked(**BETWEEN, mode="sync", **fields) for fields in ({}, {"backup_to": "efs://other/kept"})]
    plain, kept = (deletion_loads(one, 10)["other"] for one in both)
    assert (plain.written_operations, kept.written_operations) == (10, 20)
    assert kept.written_bytes == 2 * plain.written_bytes
    seconds = [deleting_of(one, 1_000_000, 1e9).seconds for one in both]
    assert seconds[1] > seconds[0]
    limited = [deleting_of(one, 1_000_000, 100.0).seconds for one in both]
    assert limited[1] == pytest.approx(2 * limited[0])


def test_comparing_by_checksum_reads_both_mounts_and_asks_s3_for_its_checksums() -> None:
    plain, compared = (loads_of(asked(**BETWEEN, **fields), WORK) for fields in ({}, {"compare": "checksum"}))
    for mount in ("data", "other"):
        more = compared[mount].read_bytes - plain[mount].read_bytes
        assert more == pytest.approx(FILES * (MIB + 2 * 4_096))
        assert compared[mount].written_bytes == plain[mount].written_bytes
    requests = [requests_of(asked(**fields), WORK, 1) for fields in ({}, {"compare": "checksum"})]
    assert requests[1].gets - requests[0].gets == FILES
    inside = {"destination": "s3://my-results/out/", "compare": "checksum"}
    assert requests_of(asked(**inside), WORK, 1).gets == 2 * FILES
    plain_other = datasync_of(asked(**BETWEEN), WORK, STATES, PRICE)
    assert datasync_of(asked(**BETWEEN, compare="checksum"), WORK, STATES, PRICE) == plain_other


def test_a_verification_by_content_and_a_certificate_read_both_ends() -> None:
    for fields in ({"verify": "all"}, {"verify": "content"}, {"verify": "all", "certificate": True}):
        loads = loads_to_verify(asked(**BETWEEN, **fields), WORK)
        assert {mount: load.read_bytes for mount, load in loads.items()} == dict.fromkeys(
            ("data", "other"), pytest.approx(FILES * (MIB + 2 * 4_096))
        )
    read = requests_to_verify(asked(verify="all", certificate=True), WORK, 1)
    looked = requests_to_verify(asked(verify="all"), WORK, 1)
    assert read.gets - looked.gets == pytest.approx(FILES + FILES * MIB / (8 * MIB))
    seconds = [predicted(verify=verify).seconds.get("verify", 0.0) for verify in ("none", "copied", "content")]
    assert seconds[0] == 0 and seconds[1] < seconds[2]


def test_what_a_version_links_takes_three_operations_and_no_bytes() -> None:
    linked = Work(FILES, 0, 0, shards=1, longest_seconds=0.0, linked=Count(FILES, FILES * MIB))
    load = loads_of(asked(), linked)["data"]
    assert (load.written_operations, load.written_bytes, load.read_bytes) == (3 * FILES, 3 * FILES * 4_096, 0)


def at(hour: int, minute: int = 0) -> float:
    return datetime(2026, 11, 24, hour, minute, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("window", "begins", "hours", "paused"),
    [
        ("", at(12), 100, 0),
        (NIGHT, at(23), 7, 0),
        (NIGHT, at(20), 1, 2),
        (NIGHT, at(23), 8, 16),
        (NIGHT, at(12), 20, 10 + 2 * 16),
        ("Sat 00:00-24:00 UTC", at(0), 1, 4 * 24),
    ],
)
def test_pauses_by_hand(window: str, begins: float, hours: float, paused: float) -> None:
    assert paused_seconds(window, begins, hours * 3600) == pytest.approx(paused * 3600)


def test_years_of_work_in_a_window_are_reckoned_in_bounded_time() -> None:
    assert paused_seconds(NIGHT, at(22), 8_000 * 3600 * 8) == pytest.approx(8_000 * 3600 * 16, rel=0.01)


def test_the_document_has_the_pauses_beside_the_seconds_of_work() -> None:
    held = predicted(limits={"window": NIGHT})
    assert "pauses" not in held.seconds
    row = forecast_document(held, at(20)).predicted_seconds
    assert row.pop("pauses") == pytest.approx(2 * 3600)
    assert row == forecast_document(predicted(), at(20)).predicted_seconds
    assert "pauses" not in forecast_document(held, at(23)).predicted_seconds
