"""S3 Inventories, and manifests that cannot be read."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote_plus

import pytest

from fanout.model.errors import InvalidRequest
from fanout.summary.summarise_transfer import summarise_transfer
from tests.support.flow import REQUEST, World
from tests.support.manifests import PLACE, contents, csv_rows, json_lines, put, world_of

INVENTORY = ["Bucket", "Key", "VersionId", "IsLatest", "IsDeleteMarker", "Size", "LastModifiedDate", "ETag"]


def inventory(world: World, rows: list[list[str]], **changes: Any) -> dict[str, Any]:
    """An inventory in two data files; returns the request for it."""
    half = len(rows) // 2
    for number, part in enumerate((rows[:half], rows[half:])):
        # AWS may pack a file in several gzip members.
        packed = b"".join(gzip.compress(csv_rows([row])) for row in part)
        world.objects.put("lists", f"inv/data/{number}.csv.gz", packed)
    document = {
        "sourceBucket": "a-bucket",
        "destinationBucket": "arn:aws:s3:::lists",
        "version": "2016-11-30",
        "fileFormat": "CSV",
        "fileSchema": ", ".join(INVENTORY),
        "files": [{"key": f"inv/data/{number}.csv.gz", "size": 1, "MD5checksum": ""} for number in (0, 1)],
        **changes,
    }
    world.objects.put("lists", "inv/manifest.json", json.dumps(document).encode())
    return {**REQUEST, "manifest": "s3://lists/inv/manifest.json"}


def test_an_inventory_of_a_bucket_is_a_manifest() -> None:
    files = {"a b+c%.txt": b"1", "ü/x": b"22", "d/": b"", "new/y": b"333"}
    world = world_of(files)

    def row(key: str, *, latest: str = "true", marker: str = "false", size: str = "") -> list[str]:
        return ["a-bucket", quote_plus(key, safe="/"), "v1", latest, marker, size, "2026-01-01T00:00:00.000Z", ""]

    rows = [row(f"tree/{path}", size=str(len(data))) for path, data in files.items()]
    rows += [row("tree/a b+c%.txt", latest="false"), row("tree/gone", marker="true"), row("elsewhere/x"), row("tree/")]
    summary = world.run(inventory(world, rows))
    assert (summary["status"], summary["totals"]["listed"]["entries"]) == ("SUCCEEDED", 4)
    assert contents(world.destination) == files


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"fileFormat": "Parquet"}, "is of an inventory as Parquet; configure the inventory with the format CSV"),
        ({"fileFormat": "ORC"}, "as ORC"),
        ({"sourceBucket": "b-bucket"}, "is of the bucket 'b-bucket', not of the source's 'a-bucket'"),
        ({"destinationBucket": "arn:aws:s3:::other"}, "data files in 'arn:aws:s3:::other'"),
        ({"files": []}, "names no data files"),
        ({"files": [{"key": "inv/none.csv.gz"}]}, "s3://lists/inv/none.csv.gz does not exist"),
        ({"files": 7}, "is not one of an S3 Inventory"),
        ({"fileSchema": "Bucket, Size"}, "no column Key"),
    ],
)
def test_an_inventory_that_does_not_fit_is_refused(changes: dict[str, Any], problem: str) -> None:
    world = world_of({})
    with pytest.raises(InvalidRequest, match="manifest: ") as caught:
        world.plan(inventory(world, [], **changes))
    assert problem in str(caught.value)
    assert not list(world.ledger.keys(""))


@pytest.mark.parametrize(
    ("data", "form", "problem"),
    [
        (b"a,b\nc,d\n", "csv", "the first row of s3://lists/lists/a.csv has 2 fields"),
        (b'"a\n', "csv", "line 1 of s3://lists/lists/a.csv is no CSV"),
        (b"", "csv.gz", "is gzip that breaks off"),
        (b"x" * 2_000_000, "csv", "line 1 of s3://lists/lists/a.csv has over 1,048,576 bytes"),
    ],
)
def test_a_manifest_that_can_not_be_read_is_refused_before_the_run_begins(data: bytes, form: str, problem: str) -> None:
    world = world_of({})
    request = put(world, data, form)
    if not data:
        world.objects.put("lists", PLACE[form], gzip.compress(b"x" * 100)[:-12])
    with pytest.raises(InvalidRequest) as caught:
        world.plan(request)
    assert problem in str(caught.value)


def test_a_manifest_that_breaks_off_or_is_written_meanwhile_ends_the_run() -> None:
    world = world_of({"a": b""})
    packed = gzip.compress(json_lines(["a"] * 1000))
    for number, data in enumerate((packed[:-9], b"no gzip", b"")):
        world = replace(world, run_id=f"run-{number}")
        world.objects.put("lists", PLACE["jsonl.gz"], data)
        state = world.plan({**REQUEST, "manifest": f"s3://lists/{PLACE['jsonl.gz']}"})
        with pytest.raises(InvalidRequest, match="gzip"):
            world.list_all(state)
    world = replace(world, run_id="run-9")
    state = world.plan(put(world, json_lines(["a"])))
    put(world, json_lines(["b"]))
    with pytest.raises(InvalidRequest, match="was written or removed after the run began"):
        world.list_all(state)
    caught = {"Error": "States.ExceedToleratedFailureThreshold", "Cause": ""}
    assert summarise_transfer(caught, world.context())["error"] == "InvalidRequest"


def test_a_manifest_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"manifest: s3://lists/none\.csv does not exist"):
        World().plan({**REQUEST, "manifest": "s3://lists/none.csv"})
