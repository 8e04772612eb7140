"""``fanout estimate``: what it prints, what it refuses, and that docs/understand/cost.md's examples are its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import cost_page
from fanout.efs.calibration import Calibration
from fanout.report.text import dollars
from fanout_cli.estimates.forecasts import watched_forecast
from fanout_cli.main import app
from tests.cli.conftest import Aws
from tests.cli.estimating import TO_EFS, estimated, run
from tests.support.probe_results import probe_json

PROBE = probe_json(Calibration(40e6, 30e6, 60e6, 0.004, 0.012, 150.0, {1: 40e6, 2: 60e6, 4: 61e6}))


PAGE = cost_page.PAGE.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\.venv/bin/fanout estimate (.*)$", PAGE, re.MULTILINE)
# Of each example: functions, states, and the dollars in all, ours and DataSync's.
ROWS = re.findall(r"^\| .* \| ([\d,]+) \| ([\d,]+) \| .* \| (\$[\d.]+) \| (\$[\d.]+)(?: \(.*)? \|$", PAGE, re.MULTILINE)


def test_the_page_is_what_the_estimator_writes() -> None:
    assert len(COMMANDS) == len(ROWS) == 6
    assert cost_page.document() == PAGE, "run: make docs"


@pytest.mark.parametrize(("command", "row_of_page"), zip(COMMANDS, ROWS, strict=True))
def test_an_example_is_what_its_command_says(command: str, row_of_page: tuple[str, ...]) -> None:
    found = CliRunner().invoke(app, ["estimate", *command.split(), "--json"])
    row = json.loads(found.stdout)
    counts = (f"{row['counts'][name]:,}" for name in ("functions", "transitions"))
    money = (cost_page.said(row[name]["total"]) for name in ("dollars", "datasync_dollars"))
    assert (*counts, *money) == row_of_page


def test_a_thousand_files_of_a_gigabyte_cost_what_the_price_lists_say_by_hand(tmp_path: Path) -> None:
    row = estimated(tmp_path, TO_EFS, "--entries", "1000", "--bytes", "1000000000000")
    assert row["dollars"]["efs"] == pytest.approx(1000 * 0.06, rel=0.001)
    assert row["datasync_dollars"]["fee"] == pytest.approx(1000 * 0.0125)
    seconds_of_functions = 1e12 / 78e6
    assert row["dollars"]["lambda"] == pytest.approx(seconds_of_functions * 1.769 * 0.0000133334, rel=0.1)


def test_small_files_among_large_ones_are_billed_as_32_kib(tmp_path: Path) -> None:
    known = ("--entries", "1M", "--bytes", "100 GB")
    few_large = estimated(tmp_path, TO_EFS, *known, "--small", "900k", "--small-bytes", "1 GB")
    of_small = (900_000 * 32_768 - 1e9) / 1e9 * 0.06
    assert few_large["dollars"]["efs"] - estimated(tmp_path, TO_EFS, *known)["dollars"]["efs"] == pytest.approx(
        of_small, rel=0.01
    )


@pytest.mark.parametrize(
    ("small", "size", "field"),
    [("11", "0", "--small"), ("5", "200000", "--small-bytes"), ("10", "999", "--small"), ("9", "1001", "--small")],
)
def test_small_files_are_some_of_the_entries(tmp_path: Path, small: str, size: str, field: str) -> None:
    found = run(tmp_path, TO_EFS, "--entries", "10", "--bytes", "1000", "--small", small, "--small-bytes", size)
    assert found.exit_code == 2
    assert field in found.output


def test_a_probe_and_a_large_directory_make_it_slower(tmp_path: Path) -> None:
    probe = tmp_path / "probe.json"
    probe.write_text(json.dumps(PROBE))
    known = ("--entries", "90000", "--bytes", "1 TiB")
    plain = estimated(tmp_path, TO_EFS, *known)
    probed = estimated(tmp_path, TO_EFS, *known, "--probe", f"data={probe}")
    assert probed["limit_seconds"]["file system"] > 10 * plain["limit_seconds"]["file system"]
    assert probed["binding_limit"] == "file system"
    flat = estimated(tmp_path, TO_EFS, *known, "--probe", str(probe), "--largest-directory", "90000")
    assert flat["limit_seconds"]["one directory"] == pytest.approx(600)


def test_a_bursting_file_system_is_held_to_its_reserve_and_the_terminal_says_what_would_be(tmp_path: Path) -> None:
    known = ("--entries", "1000", "--bytes", "1 TiB", "--throughput-mode", "bursting")
    row = estimated(tmp_path, TO_EFS, *known, "--standard", "100 GiB", "--credits", "100 GiB")
    assert row["file_systems"][0]["credits"]["runs_out_share"] is None
    said = run(tmp_path, TO_EFS, *known, "--standard", "100 GiB", "--credits", "100 GiB").stdout
    assert "burst credits: held to 4.9 MiB/s so that the reserve of 20% is not spent" in said
    assert "unheld: run out after 10% at " in said
    assert row["dollars"]["efs"] == 0
    rich = estimated(tmp_path, TO_EFS, *known, "--standard", "100 GiB")
    assert rich["file_systems"][0]["credits"]["runs_out_share"] is None


def test_a_night_that_finds_nothing_costs_what_its_page_says(tmp_path: Path) -> None:
    page = (cost_page.PAGE.parents[1] / "how-to/estimate.md").read_text(encoding="utf-8")
    [(source, destination, mode, unchanged)] = re.findall(
        r"estimate (\S+) (\S+) --mode (\w+) --unchanged (\w+)\n", page
    )
    request = {"source": source, "destination": destination, "mode": mode}
    told = {name: float(cost) for name, cost in re.findall(r"^\| ([\w ]+) \| ([0-9.]+) \|", page, re.MULTILINE)}
    row = estimated(tmp_path, request, "--unchanged", unchanged)
    money = row["dollars"]
    by_hand = {"S3": 10_000_000 / 1_000 * 0.005 / 1_000, "EFS": 10_000_000 * (256 + 0.4 * 4096) / 1e9 * 0.03}
    assert told["EFS"] == pytest.approx(by_hand["EFS"], rel=0.001) and told["S3"] == pytest.approx(
        by_hand["S3"], rel=0.2
    )
    found = {"S3": money["s3"], "EFS": money["efs"], "Lambda": money["lambda"], "total": money["total"]}
    found["the rest"] = found["total"] - found["S3"] - found["EFS"] - found["Lambda"]
    assert {name: round(cost, 4) for name, cost in found.items()} == told
    assert (row["predicted_seconds"]["copy"], set(row["limit_seconds"].values())) == (0, {0})


def test_what_is_unchanged_adds_to_the_listing_and_to_nothing_else(tmp_path: Path) -> None:
    known = ("--entries", "90000", "--bytes", "1 GiB")
    alone, beside = estimated(tmp_path, TO_EFS, *known), estimated(tmp_path, TO_EFS, *known, "--unchanged", "10M")
    assert beside["predicted_seconds"]["list"] > alone["predicted_seconds"]["list"]
    assert beside["predicted_seconds"]["copy"] == alone["predicted_seconds"]["copy"]
    listed = 10_000_000 * (256 + 0.4 * 4096) / 1e9 * 0.03
    assert beside["dollars"]["efs"] - alone["dollars"]["efs"] == pytest.approx(listed, abs=1e-6)
    bursting = ("--throughput-mode", "bursting", "--standard", "1 TiB")
    assert estimated(tmp_path, TO_EFS, "--unchanged", "10M", *bursting)["dollars"]["efs"] == 0


def test_what_is_unchanged_is_read_where_the_request_compares_it(tmp_path: Path) -> None:
    known = ("--unchanged", "1000", "--unchanged-bytes", "1 TB")
    plain = estimated(tmp_path, TO_EFS, *known)["dollars"]["efs"]
    for fields in ({"compare": "checksum"}, {"verify": "content"}):
        read = estimated(tmp_path, {**TO_EFS, **fields}, *known)["dollars"]["efs"] - plain
        assert read == pytest.approx(30.0, rel=0.001), fields


def test_people_are_told_nothing_about_copying_where_nothing_is_copied(tmp_path: Path) -> None:
    said = run(tmp_path, TO_EFS, "--unchanged", "1M").stdout
    assert "what binds" not in said and "The copying" not in said and "cost: $" in said


def test_people_get_tables(tmp_path: Path) -> None:
    found = run(tmp_path, TO_EFS, "--entries", "1000", "--bytes", "1 GiB")
    assert found.exit_code == 0
    for word in ("forecast:", "what binds:", "DataSync's own fee", "binds", "nobody else is taken to use it"):
        assert word in found.stdout


@pytest.mark.parametrize(
    ("request_", "arguments", "said"),
    [
        ({"source": "s3://my-data/in/"}, (), "destination: is missing"),
        (TO_EFS, ("--entries", "0"), "--entries: is missing; say how many entries are copied, or with --unchanged"),
        (TO_EFS, ("--unchanged", "many"), "--unchanged: 'many' is not"),
        (TO_EFS, ("--bytes", "many"), "--bytes: 'many' is not a size"),
        (TO_EFS, ("--unchanged-bytes", "many"), "--unchanged-bytes: 'many' is not a size"),
        (TO_EFS, ("--throughput-mode", "provisioned"), "--provisioned-mibps: is missing"),
        (TO_EFS, ("--probe", "not-there.json"), "--probe: not-there.json cannot be read"),
        (TO_EFS, ("--probe", "other=not-there.json"), "the request names no mount 'other'"),
    ],
)
def test_what_is_wrong_is_named_and_the_status_is_2(
    tmp_path: Path, request_: Any, arguments: tuple[str, ...], said: str
) -> None:
    found = run(tmp_path, request_, "--entries", "1", "--bytes", "1", *arguments)
    assert (found.exit_code, said in found.output) == (2, True), found.output


def test_every_mount_of_the_request_is_known(tmp_path: Path) -> None:
    asked = {"source": "efs://first/a", "destination": "efs://second/b"}
    row = estimated(tmp_path, asked, "--entries", "10", "--bytes", "1000")
    assert [system["mount"] for system in row["file_systems"]] == ["first", "second"]


def test_who_follows_a_run_is_told_its_forecast_once(aws: Aws) -> None:
    row = estimated(aws.directory, TO_EFS, "--entries", "1000", "--bytes", "1 GiB")
    aws.start("run-1", seconds=1)
    aws.summary("run-1", "SUCCEEDED", listed=1000, copied=1000)
    aws.put("runs/run-1/forecast.json", row)
    watched = aws.fanout("watch", "run-1", "--stack", "mine")
    assert watched.exit_code == 0
    assert watched.stderr.count("forecast: ") == 1
    assert "what binds" not in watched.stderr  # the run is over


@pytest.mark.parametrize(
    ("is_local", "seconds", "lines"),
    [(False, 600.0, 6), (False, 59.0, 1), (True, 600.0, 1)],
    ids=["long", "short", "local"],
)
def test_the_forecast_of_a_short_run_or_a_local_one_is_one_line(
    tmp_path: Path, is_local: bool, seconds: float, lines: int
) -> None:
    row = estimated(tmp_path, TO_EFS, "--entries", "1000", "--bytes", "1 GiB")
    said = list(watched_forecast({**row, "predicted_seconds": {"copy": seconds}}, is_local=is_local))
    assert len(said) == lines
    assert said[0].startswith("on AWS it would take " if is_local else "forecast: ")
    if lines == 1:
        assert said[0].endswith(f" {dollars(row['dollars']['total'])}")
    else:
        assert f"what binds: {row['binding_limit']}" in said[1]


def test_a_run_without_a_forecast_is_followed_without_one(aws: Aws) -> None:
    aws.start("run-1")
    aws.summary("run-1", "SUCCEEDED", listed=1)
    watched = aws.fanout("watch", "run-1", "--stack", "mine")
    assert watched.exit_code == 0
    assert "forecast" not in watched.stderr


def test_two_places_are_estimated_as_their_request_is(tmp_path: Path) -> None:
    words = ("--entries", "1000", "--bytes", "1 GiB", "--json")
    places = CliRunner().invoke(app, ["estimate", TO_EFS["source"], TO_EFS["destination"], *words])
    assert json.loads(places.stdout)["dollars"] == estimated(tmp_path, TO_EFS, *words[:-1])["dollars"]


def test_the_concurrency_is_that_of_the_stack_that_is_named(aws: Aws, tmp_path: Path) -> None:
    words = ("--entries", "1000000", "--bytes", "1 GiB", "--stack", "mine", "--json")
    here = aws.fanout("estimate", TO_EFS["source"], TO_EFS["destination"], *words)
    assert json.loads(here.stdout)["pace"]["max_concurrency"] <= 100


def test_without_an_index_both_ends_inside_s3_are_asked_about_each_unchanged_object(tmp_path: Path) -> None:
    request = {"source": "s3://my-data/in/", "destination": "s3://my-data/out/"}
    vouched, asked = (estimated(tmp_path, request, "--unchanged", "1M", *more) for more in ([], ["--no-index"]))
    assert asked["dollars"]["s3"] - vouched["dollars"]["s3"] == pytest.approx(2 * 1_000_000 * 0.0004 / 1_000)


def test_transfer_between_regions_is_a_line_of_its_own_where_a_bucket_s_region_is_given(tmp_path: Path) -> None:
    known = ("--entries", "1000", "--bytes", "100000000000")
    near, far = (
        estimated(tmp_path, TO_EFS, *known, *more)["dollars"] for more in ((), ("--bucket-region", "my-data=eu-west-1"))
    )
    assert far == {**near, "transfer_between_regions": 2.0, "total": pytest.approx(near["total"] + 2.0)}
    said = run(tmp_path, TO_EFS, *known, "--bucket-region", "my-data=eu-west-1").stdout
    assert "transfer between regions $2.00" in said


@pytest.mark.parametrize("given", ["other-data=eu-west-1", "my-data", "my-data="])
def test_a_region_of_no_bucket_of_the_request_is_refused(tmp_path: Path, given: str) -> None:
    found = run(tmp_path, TO_EFS, "--entries", "1", "--bytes", "1", "--bucket-region", given)
    assert found.exit_code == 2
    assert "say BUCKET=REGION of my-data" in found.output
