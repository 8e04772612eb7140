"""Runs through the deployed stack that wait: before their window opens, and for an archived object."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.e2e.conftest import Stack
from tests.e2e.windowed import FILES, Windowed, begin_restoring, begin_windowed

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", autouse=True)
def windowed(local: Stack) -> Windowed:
    """Began before its window opens."""
    return begin_windowed(local.stack, local.mount)


@pytest.fixture(scope="module", autouse=True)
def restoring(local: Stack) -> str:
    """The execution of a run that waits for an archive, while the other one waits for its window."""
    return begin_restoring(local.stack)


def test_a_run_that_starts_outside_of_its_window_copies_when_it_opens(local: Stack, windowed: Windowed) -> None:
    execution, opens = windowed
    out = local.mount / "window/out"
    ended = local.stack.wait(execution)
    s3, bucket = local.stack.clients.s3, local.stack.work_bucket
    summary = json.loads(s3.get_object(Bucket=bucket, Key="runs/windowed/summary.json")["Body"].read())
    assert ended["status"] == "SUCCEEDED", (ended, summary)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == FILES
    assert all(path.stat().st_ctime >= opens for path in out.iterdir()), "nothing is copied while it is closed"
    segments = s3.list_objects_v2(Bucket=bucket, Prefix="runs/windowed/segments/done/")
    assert segments["KeyCount"] == 2, "the segment was handed back once"


def test_an_archived_object_is_restored_and_copied_and_every_entry_reported(local: Stack, restoring: str) -> None:
    ended = local.stack.wait(restoring)
    s3, bucket = local.stack.clients.s3, local.stack.work_bucket
    summary = json.loads(s3.get_object(Bucket=bucket, Key="runs/restoring/summary.json")["Body"].read())
    assert ended["status"] == "SUCCEEDED", (ended, summary)
    assert {path.name: path.read_text() for path in (local.mount / "restored").iterdir()} == {
        "cold": "cold",
        "warm": "warm",
    }
    assert summary["forecast"]["dollars"]["restores"] > 0
    assert summary["forecast"]["predicted_seconds"]["restore"] > 0
    assert summary["forecast"]["datasync_mode"] == "basic"
    found = s3.list_objects_v2(Bucket=bucket, Prefix="runs/restoring/entries/")["Contents"]
    bodies = [gzip.decompress(s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()) for one in found]
    rows = [json.loads(line) for body in bodies for line in body.splitlines()]
    assert sorted((row["path"], row["outcome"]) for row in rows) == [("cold", "copied"), ("warm", "copied")]
