"""A run through the deployed stack that starts in the last seconds before its window opens."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Stack
from tests.e2e.windowed import FILES

pytestmark = pytest.mark.e2e


def test_a_run_that_starts_outside_of_its_window_copies_when_it_opens(local: Stack) -> None:
    execution, opens = local.windowed
    out = local.mount / "window/out"
    ended = local.stack.wait(execution)
    s3, bucket = local.stack.clients.s3, local.stack.work_bucket
    summary = json.loads(s3.get_object(Bucket=bucket, Key="runs/windowed/summary.json")["Body"].read())
    assert ended["status"] == "SUCCEEDED", (ended, summary)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == FILES
    assert all(path.stat().st_ctime >= opens for path in out.iterdir()), "nothing is copied while it is closed"
    segments = s3.list_objects_v2(Bucket=bucket, Prefix="runs/windowed/segments/done/")
    assert segments["KeyCount"] == 2, "the segment was handed back once"
