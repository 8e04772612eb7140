"""Forecasts count what runs take: beside whole runs of the handlers, whose calls, states and requests are counted."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fanout.facts import tuning
from fanout.facts.prices import prices_with
from fanout.model.checksum import crc64nvme, to_base64
from fanout.model.document import Json
from tests.support.http import Head
from tests.support.wire import SOURCE, TARGET, Wire

# As S3 keeps one of every object.
CHECKSUM = {"ChecksumAlgorithm": "CRC64NVME", "ChecksumCRC64NVME": to_base64(crc64nvme(b"hello"))}
COPY: Json = {"source": f"s3://{SOURCE}/in/", "destination": "efs:///out"}
SYNC = {**COPY, "mode": "sync"}
SMALL = [
    pytest.param(1, COPY, 1, id="one file"),
    pytest.param(40, COPY, 1, id="40 files"),
    pytest.param(40, SYNC, 2, id="no-change sync"),
]


def counted(
    wire: Wire, s3: Any, files: int, request: Json, runs: int, name: str = "run"
) -> tuple[Json, dict[str, int], int]:
    """The forecast of the last of so many runs, its functions, states and requests, and its lists of the source."""
    for number in range(files):
        key = f"in/d{number % 5}/f{number}"
        s3.put_object(Bucket=SOURCE, Key=key, Body=b"hello", **CHECKSUM)
    if runs > 1 or name != "run":
        time.sleep(2)  # what is as old as its copy, in S3's whole seconds, is copied again
    for number in range(runs):
        wire.heads.clear()
        assert wire.flow.run(f"{name}-{number}", request)["status"] == "SUCCEEDED"
    found = {
        "functions": len(wire.flow.called),
        "transitions": len(wire.flow.entered) + len(("TransferSucceeded?", "Succeeded")),
        "requests": len(wire.of("work-bucket")),
    }
    lists = sum("list-type=2" in one.target for one in wire.of(SOURCE))
    kept = s3.get_object(Bucket="work-bucket", Key=f"runs/{name}-{runs - 1}/forecast.json")["Body"]
    return json.loads(kept.read()), found, lists


def dollars_of(heads: Iterable[Head]) -> float:
    """What S3 takes for requests: the deletions among them are free."""
    price, found = prices_with({}), 0.0
    for head in heads:
        is_free = head.method == "DELETE" or (head.method == "POST" and "?delete" in head.target)
        found += 0.0 if is_free else price["s3_get" if head.method in ("GET", "HEAD") else "s3_put"]
        found += price["s3_put"] - price["s3_get"] if "list-type=2" in head.target else 0.0
    return found


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
    assert forecast["dollars"]["work_bucket"] == pytest.approx(dollars_of(wire.of("work-bucket")), rel=0.1)


def test_what_is_compared_by_checksum_is_counted_after_the_run(wire: Wire, s3: Any) -> None:
    """Before it nobody knows how much of it differs: the forecast takes all of it for copied."""
    wire.flow.short = True
    counted(wire, s3, 40, COPY, 1, "before")
    forecast, found, _ = counted(wire, s3, 40, {**COPY, "compare": "checksum"}, 1)
    assert {name: forecast["counts"][name] for name in found} == pytest.approx(found, rel=0.1)
    summary = json.loads(s3.get_object(Bucket="work-bucket", Key="runs/run-0/summary.json")["Body"].read())
    told = summary["forecast"]["actual_dollars"]
    assert told["s3"] == pytest.approx(dollars_of(wire.of(SOURCE)), rel=0.1)
    assert told["work_bucket"] == pytest.approx(dollars_of(wire.of("work-bucket")), rel=0.1)
    assert forecast["dollars"]["s3"] == pytest.approx(told["s3"] + 40 * 0.0000004, rel=0.1)


UP: Json = {"source": "efs:///here", "destination": f"s3://{TARGET}/out/"}
INSIDE: Json = {**COPY, "destination": f"s3://{TARGET}/out/"}
MOUNTS: Json = {"source": "efs://data/here", "destination": "efs://archive/out"}
WAYS = {"down": COPY, "up": UP, "inside S3": INSIDE}
VERIFIES, MOVES = {"mode": "verify"}, {"mode": "move"}
PUBLISHES = {"publish": {"link": "current"}}
# What a run asks for, after the runs before it: the requests of the runs, and files deleted before the last one.
ONE, MANY = tuning.SHARD_ENTRIES, 4  # entries of a shard
KINDS = [
    *(pytest.param([ends], 0, ONE, id=f"{name}: first copy") for name, ends in WAYS.items()),
    *(pytest.param([ends, {**ends, **VERIFIES}], 0, ONE, id=f"{name}: verify") for name, ends in WAYS.items()),
    *(pytest.param([{**ends, **MOVES}], 0, ONE, id=f"{name}: move") for name, ends in WAYS.items()),
    pytest.param([COPY, {**COPY, **VERIFIES}], 0, MANY, id="verify with many shards"),
    pytest.param([{**COPY, **MOVES}], 0, MANY, id="move with many shards"),
    pytest.param([{**COPY, **PUBLISHES}], 0, ONE, id="publish"),
    pytest.param([{**COPY, **PUBLISHES}] * 2, 0, MANY, id="publish again, with many shards"),
    pytest.param([SYNC, {**SYNC, "delete_guard": {"max_percent": 50.0}}], 10, ONE, id="sync that deletes"),
    pytest.param([MOUNTS], 0, MANY, id="between mounts, with many shards"),
    pytest.param([MOUNTS, {**MOUNTS, **VERIFIES}], 0, ONE, id="between mounts: verify"),
]


@pytest.mark.parametrize(("requests", "deleted", "entries"), KINDS)
def test_forecast_and_count_hold_what_each_kind_of_run_takes(
    wire: Wire,
    s3: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    requests: list[Json],
    deleted: int,
    entries: int,
) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", entries)
    wire.flow.short = True
    here = tmp_path / "data/here"
    for number in range(40):
        path = here / f"d{number % 5}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"hello")
    for number, request in enumerate(requests[:-1]):
        counted(wire, s3, 40, request, 1, f"before-{number}")
    for number in range(deleted):
        s3.delete_object(Bucket=SOURCE, Key=f"in/d{number % 5}/f{number}")
    forecast, found, _ = counted(wire, s3, 0 if deleted else 40, requests[-1], 1)
    assert {name: forecast["counts"][name] for name in found} == pytest.approx(found, rel=0.1)
    summary = json.loads(s3.get_object(Bucket="work-bucket", Key="runs/run-0/summary.json")["Body"].read())
    work, data = dollars_of(wire.of("work-bucket")), dollars_of([*wire.of(SOURCE), *wire.of(TARGET)])
    for dollars in (forecast["dollars"], summary["forecast"]["actual_dollars"]):
        told = dollars["work_bucket"] + dollars["s3"] if requests[-1]["source"] == MOUNTS["source"] else None
        if told is not None:  # what is staged lies in the work bucket
            assert told == pytest.approx(work, rel=0.1)
            continue
        assert dollars["work_bucket"] == pytest.approx(work, rel=0.1)
        assert dollars["s3"] == pytest.approx(data, rel=0.1)
