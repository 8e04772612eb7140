"""The forecast reckons with each option of a request that has operations, requests or a wait of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fanout.efs.calibration import rates_of
from fanout.efs.capacity import Load
from fanout.efs.load import loads_of
from fanout.facts import aws, tuning
from fanout.facts.operations import OPERATIONS_PER_FILE
from fanout.facts.units import MIB
from fanout.forecast.deleting import deleting_of, deletion_loads
from fanout.forecast.document import forecast_document
from fanout.forecast.forecast import Forecast
from fanout.model.file_system import ThroughputMode
from fanout.model.shard import Rates
from fanout.request.parse import parse_request
from fanout.request.parts.window import closed_seconds
from fanout.request.request import Request
from fanout_cli.estimates.from_totals import EstimateFacts, estimate, estimated_work, idle_state
from tests.copying.test_hard_links import world_of
from tests.forecast.test_forecast import PROBED

S3, DATA, OTHER = "s3://my-data/in/", "efs://data/x", "efs://archive/y"
FILES, SIZE = 1_000, 1_000 * 8 * MIB
KEPT = {"backup_to": "efs://data/kept"}
READ_WHOLE = SIZE + 2 * FILES * aws.EFS_LEAST_METERED


def request(source: str = S3, destination: str = DATA, **fields: Any) -> Request:
    return parse_request({"source": source, "destination": destination, **fields}, ("data", "archive"), 100)


def predicted(asked: Request, entries: int = FILES, size: int = SIZE, **known: Any) -> Forecast:
    states = {mount: idle_state(ThroughputMode.ELASTIC) for mount in ("data", "archive")}
    return estimate(asked, EstimateFacts(entries, size, states=states, **known))


def loads(asked: Request, **known: Any) -> dict[str, Load]:
    return dict(loads_of(asked, estimated_work(asked, EstimateFacts(FILES, SIZE, **known), Rates(0.001, 1e8))))


@pytest.mark.parametrize(
    ("fields", "more"),
    [
        ({"attributes": {"uid": 1000}}, 3),
        ({"attributes": {"gid": 1000, "file_mode": "0640", "override": True}}, 3),
        ({"attributes": {"file_mode": "0640", "mtime": "last-modified"}}, 0),  # the file is created with its mode
        ({"overwrite": "never"}, 0),
        ({"overwrite": "if-newer"}, 2),
        (KEPT, 4),
        ({**KEPT, "overwrite": "if-newer", "attributes": {"uid": 1000}}, 7),
    ],
)
def test_more_operations_of_each_file_load_the_file_system_cost_and_take_time(
    fields: dict[str, Any], more: int
) -> None:
    asked, plain = request(**fields), request()
    found, without = loads(asked)["data"], loads(plain)["data"]
    assert found.written_operations - without.written_operations == pytest.approx(more * FILES)
    assert found.written_bytes - without.written_bytes == pytest.approx(more * FILES * aws.EFS_LEAST_METERED)
    dollars = predicted(asked).dollars.efs - predicted(plain).dollars.efs
    assert dollars == pytest.approx(more * FILES * aws.EFS_LEAST_METERED / 1e9 * 0.06)
    slower = rates_of(asked, {}).seconds_per_entry / rates_of(plain, {}).seconds_per_entry
    assert slower == pytest.approx((OPERATIONS_PER_FILE + more) / OPERATIONS_PER_FILE)
    probed = {"data": PROBED}
    slower = rates_of(asked, probed).seconds_per_entry - rates_of(plain, probed).seconds_per_entry
    assert slower == pytest.approx(more * PROBED.create_seconds / tuning.CLIENT_OPERATIONS_IN_FLIGHT)


def test_a_plan_has_the_forecast_of_the_sync_that_it_plans() -> None:
    plan, sync, copy = (predicted(request(mode=mode, verify="all"), extras=100) for mode in ("plan", "sync", "copy"))
    assert plan == sync
    assert plan.seconds.keys() - copy.seconds.keys() == {"delete"}
    assert "verify" in copy.seconds


def test_a_bucket_takes_no_more_operations() -> None:
    for overwrite in ("never", "if-newer"):
        found, plain = predicted(request(DATA, S3, overwrite=overwrite)), predicted(request(DATA, S3))
        assert replace(found.dollars, ledger=0.0) == replace(plain.dollars, ledger=0.0)  # an index is left or is not
        assert found.seconds == plain.seconds


def test_what_a_sync_deletes_is_linked_first_where_it_is_kept() -> None:
    asked, plain = (request(OTHER, DATA, mode="sync", **more) for more in (KEPT, {}))
    assert deletion_loads(asked, 10)["data"] == Load(10, 40_960, 20, 81_920)
    assert deletion_loads(plain, 10)["data"] == Load(10, 40_960, 10, 40_960)
    more = deleting_of(asked, 64_000, 1e12).seconds - deleting_of(plain, 64_000, 1e12).seconds
    assert more == pytest.approx(64_000 / 4 * aws.EFS_WRITE_SECONDS / tuning.CLIENT_OPERATIONS_IN_FLIGHT)


@pytest.mark.parametrize("fields", [{"older_than": "30d"}, {"newer_than": "6h"}, {"report_entries": "failed"}])
def test_what_asks_nobody_costs_nothing_more(fields: dict[str, Any]) -> None:
    assert predicted(request(**fields)).dollars == predicted(request()).dollars


@pytest.mark.parametrize(
    ("source", "destination", "reads", "heads"),
    [
        (S3, DATA, {"data": 1}, 1),
        (DATA, S3, {"data": 1}, 1),
        (DATA, OTHER, {"data": 1, "archive": 1}, 0),
        (DATA, "efs://data/z", {"data": 2}, 0),
        (S3, "s3://my-results/out/", {}, 2),
    ],
)
def test_comparing_by_checksum_reads_at_both_ends_what_both_hold(
    source: str, destination: str, reads: dict[str, int], heads: int
) -> None:
    there = {"unchanged": FILES, "unchanged_bytes": SIZE}
    asked, plain = request(source, destination, compare="checksum"), request(source, destination)
    before, after = loads(plain, **there), loads(asked, **there)
    more = {mount: after[mount].read_bytes - before[mount].read_bytes for mount in after}
    assert more == pytest.approx({mount: times * READ_WHOLE for mount, times in reads.items()})
    found, without = predicted(asked, **there), predicted(plain, **there)
    assert found.dollars.s3 - without.dollars.s3 == pytest.approx(heads * FILES * 0.0004 / 1_000, abs=0.00015)
    assert found.dollars.compute > without.dollars.compute
    new, copied = predicted(asked).dollars, predicted(plain).dollars  # nothing is there yet
    assert new.s3 == pytest.approx(copied.s3, abs=0.0000051)  # no index is left, for which the copy lists once more
    assert replace(new, s3=0.0, ledger=0.0) == replace(copied, s3=0.0, ledger=0.0)


@pytest.mark.parametrize("verify", ["all", "content"])
def test_a_verification_of_all_reads_what_was_not_copied_too(verify: str) -> None:
    there = {"unchanged": 9 * FILES, "unchanged_bytes": 9 * SIZE}
    found, copied = (predicted(request(verify=each), **there) for each in (verify, "copied"))
    listed = 10 * FILES * (256 + 0.4 * 4096)
    assert found.dollars.efs - copied.dollars.efs == pytest.approx((9 * READ_WHOLE + listed) / 1e9 * 0.03)
    assert found.dollars.s3 - copied.dollars.s3 == pytest.approx(9 * FILES * 0.0004 / 1_000, abs=0.0002)
    assert found.seconds["verify"] > copied.seconds["verify"]
    read = predicted(request(verify=verify, certificate=True), **there)
    objects = 10 * (FILES + SIZE / tuning.BLOCK_BYTES)
    assert read.dollars.s3 - found.dollars.s3 == pytest.approx(objects * 0.0004 / 1_000)


def test_publishing_removes_an_old_version() -> None:
    found, plain = predicted(request(publish={"link": "current"})), predicted(request())
    assert found.dollars.efs - plain.dollars.efs == pytest.approx(FILES * aws.EFS_LEAST_METERED / 1e9 * 0.09)
    assert found.seconds["publish"] == pytest.approx(3 + FILES * 0.0037 / 64)
    assert "publish" not in plain.seconds


@pytest.mark.parametrize(
    ("begins", "hours", "closed"),
    [(22, 8, 0), (22, 9, 16), (22, 17, 32), (6, 1, 16), (5, 1, 0), (5, 2, 16)],
)
def test_a_run_is_paused_while_its_window_is_closed(begins: int, hours: int, closed: int) -> None:
    at = datetime(2026, 11, 24, begins, tzinfo=UTC).timestamp()
    assert closed_seconds("22:00-06:00 UTC", at, hours * 3600.0) == closed * 3600.0


def test_the_pause_is_a_phase_of_the_forecast() -> None:
    at = datetime(2026, 11, 24, 12, tzinfo=UTC).timestamp()
    found = predicted(request())
    assert forecast_document(found, at, "22:00-06:00 UTC").predicted_seconds["pause"] == 10 * 3600.0
    assert "pause" not in forecast_document(found, at).predicted_seconds


def test_the_forecast_of_a_run_knows_what_is_there_and_when_its_window_is_closed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(20):
        (tmp_path / f"in/{number}").write_bytes(bytes(10_000))
    asked = {"source": "efs:///in", "destination": "efs:///out", "compare": "checksum"}

    def forecast_of(run_id: str, **fields: Any) -> Any:
        world = world_of(tmp_path, run_id)
        assert world.run({**asked, **fields})["status"] == "SUCCEEDED"
        return world.ledger.read_json("forecast.json")

    first = forecast_of("run-1")
    assert "pause" not in first["predicted_seconds"]
    compared, copied = forecast_of("run-2", verify="all"), forecast_of("run-3", compare="always", verify="all")
    metered = compared["dollars"]["efs"] - copied["dollars"]["efs"]
    of_a_file = aws.EFS_LEAST_BILLED + 2 * aws.EFS_LEAST_METERED
    assert metered == pytest.approx(2 * 20 * of_a_file / 1e9 * 0.03, abs=0.000002)
    assert "pause" in forecast_of("run-4", limits={"window": "00:00-23:30 UTC"})["predicted_seconds"]


def test_a_tree_of_few_large_and_many_small_files_is_forecast_and_counted_by_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    sizes = [1_000] * 30 + [3_000_000]
    for number, size in enumerate(sizes):
        (tmp_path / f"in/{number}").write_bytes(bytes(size))
    asked = {"source": "efs:///in", "destination": "efs:///out", "verify": "copied"}
    world = world_of(tmp_path)
    summary = world.run(asked)
    assert summary["status"] == "SUCCEEDED"
    billed = sum(max(size, aws.EFS_LEAST_BILLED) for size in sizes) / 1e9
    data = billed * (0.06 + 3 * 0.03)  # written; read to copy it, and at both ends to prove it
    of_each = 4096 / 1e9 * ((OPERATIONS_PER_FILE - 1) * 0.06 + 3 * 2 * 0.03)
    for dollars in (summary["forecast"]["dollars"], summary["forecast"]["actual_dollars"]):
        assert dollars["efs"] == pytest.approx(data + len(sizes) * of_each, rel=0.05)


@pytest.mark.parametrize(
    ("source", "destination", "fields", "heads"),
    [
        (S3, "s3://my-results/out/", {}, 2),
        (S3, "s3://my-results/out/", {"mode": "sync"}, 2),
        (DATA, S3, {}, 1),
        (S3, DATA, {}, 1),
        (DATA, OTHER, {}, 0),
        (S3, "s3://my-results/out/", {"compare": "always"}, 0),
        (S3, "s3://my-results/out/", {"mode": "verify"}, 0),
    ],
)
def test_without_an_index_buckets_are_asked_about_what_is_unchanged(
    source: str, destination: str, fields: dict[str, Any], heads: int
) -> None:
    """``listing.deciding.proofs`` counts its looks by the same rule."""
    asked, many = request(source, destination, **fields), 1_000_000
    known = EstimateFacts(0, 0, unchanged=many, indexed=False)
    assert estimated_work(asked, known, Rates(0.001, 1e8)).heads == heads * many
    found, vouched = predicted(asked, 0, 0, unchanged=many, indexed=False), predicted(asked, 0, 0, unchanged=many)
    assert found.dollars.s3 - vouched.dollars.s3 == pytest.approx(heads * many * 0.0004 / 1_000)
