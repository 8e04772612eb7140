"""Forecasts count what runs take: beside whole runs of the handlers, whose calls, states and requests are counted."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from fanout.facts import tuning
from fanout.model.document import Json
from tests.support.wire import SOURCE, Wire

COPY: Json = {"source": f"s3://{SOURCE}/in/", "destination": "efs:///out"}
SYNC = {**COPY, "mode": "sync"}
SMALL = [
    pytest.param(1, COPY, 1, id="one file"),
    pytest.param(40, COPY, 1, id="40 files"),
    pytest.param(40, SYNC, 2, id="no-change sync"),
]


def counted(wire: Wire, s3: Any, files: int, request: Json, runs: int) -> tuple[Json, dict[str, int], int]:
    """The forecast of the last of so many runs, its functions, states and requests, and its lists of the source."""
    for number in range(files):
        s3.put_object(Bucket=SOURCE, Key=f"in/d{number % 5}/f{number}", Body=b"hello")
    if runs > 1:
        time.sleep(2)  # what is as old as its copy, in S3's whole seconds, is copied again
    for number in range(runs):
        wire.heads.clear()
        assert wire.flow.run(f"run-{number}", request)["status"] == "SUCCEEDED"
    found = {
        "functions": len(wire.flow.called),
        "transitions": len(wire.flow.entered) + len(("TransferSucceeded?", "Succeeded")),
        "requests": len(wire.of("work-bucket")),
    }
    lists = sum("list-type=2" in one.target for one in wire.of(SOURCE))
    kept = s3.get_object(Bucket="work-bucket", Key=f"runs/run-{runs - 1}/forecast.json")["Body"]
    return json.loads(kept.read()), found, lists


@pytest.mark.parametrize("short", [True, False], ids=["short", "ordinary"])
@pytest.mark.parametrize(
    ("files", "request_", "runs"),
    [
        *SMALL,
        pytest.param(40, {**COPY, "verify": "copied"}, 1, id="verified"),
        pytest.param(40, {**COPY, "verify": "all"}, 1, id="all verified"),
    ],
)
def test_a_forecast_counts_what_a_run_takes(
    wire: Wire, s3: Any, monkeypatch: pytest.MonkeyPatch, files: int, request_: Json, runs: int, short: bool
) -> None:
    wire.flow.short = short
    if not short:
        monkeypatch.setattr("fanout.forecast.way.may_go_short", lambda _: False)
    forecast, found, _ = counted(wire, s3, files, request_, runs)
    assert forecast["counts"]["is_short"] is short
    assert {name: forecast["counts"][name] for name in found} == pytest.approx(found, rel=0.1)


@pytest.mark.parametrize("short", [True, False], ids=["short", "ordinary"])
def test_a_forecast_counts_each_shard(wire: Wire, s3: Any, monkeypatch: pytest.MonkeyPatch, short: bool) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 4)
    wire.flow.short = short
    if not short:
        monkeypatch.setattr("fanout.forecast.way.may_go_short", lambda _: False)
    forecast, found, _ = counted(wire, s3, 60, {**COPY, "verify": "copied"}, 1)
    assert wire.flow.called.count("VerifyShard") == 15
    assert wire.flow.called.count("CopyShard") == (0 if short else 15)
    assert {name: forecast["counts"][name] for name in found} == pytest.approx(found, rel=0.1)


@pytest.mark.parametrize(("files", "request_", "runs"), SMALL)
def test_a_forecast_counts_the_lists_of_a_small_source(
    wire: Wire, s3: Any, files: int, request_: Json, runs: int
) -> None:
    wire.flow.short = True
    forecast, _, lists = counted(wire, s3, files, request_, runs)
    gets = files if runs == 1 else 0
    assert forecast["dollars"]["s3"] == pytest.approx(lists * 0.000005 + gets * 0.0000004, rel=0.1)
