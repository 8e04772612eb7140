"""A run through the deployed stack that starts in the last minutes before its window opens."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest

from tests.e2e.conftest import Stack

pytestmark = pytest.mark.e2e

MINUTE = 60
# Enough for the run to be planned and its first task to be handed back before the window opens.
AHEAD_SECONDS = 15


def opening() -> int:
    """A whole minute that is soon, in seconds since 1970."""
    return (int(time.time() + AHEAD_SECONDS) // MINUTE + 1) * MINUTE


def times(*moments: int) -> str:
    return "-".join(f"{datetime.fromtimestamp(moment, UTC):%H:%M}" for moment in moments)


def test_a_run_that_starts_outside_of_its_window_copies_when_it_opens(local: Stack) -> None:
    source = local.mount / "window/in"
    source.mkdir(parents=True)
    for number in range(20):
        (source / f"f{number}").write_bytes(b"%d" % number)
    opens = opening()
    window = f"{times(opens, opens - 2 * MINUTE)} UTC"  # closed for two minutes a day
    request = {"source": "efs:///window/in", "destination": "efs:///window/out", "limits": {"window": window}}
    execution = local.stack.start_execution(request, "windowed")
    out = local.mount / "window/out"
    while time.time() < opens - 1:
        assert not list(out.glob("f*")), "nothing is copied while the window is closed"
        time.sleep(0.5)
    ended = local.stack.wait(execution)
    found = local.stack.clients.s3.get_object(Bucket=local.stack.work_bucket, Key="runs/windowed/summary.json")
    summary = json.loads(found["Body"].read())
    assert ended["status"] == "SUCCEEDED", (ended, summary)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {f"f{n}": b"%d" % n for n in range(20)}
    assert all(path.stat().st_ctime >= opens for path in out.iterdir())
    assert (
        local.stack.clients.s3.list_objects_v2(Bucket=local.stack.work_bucket, Prefix="runs/windowed/segments/done/")[
            "KeyCount"
        ]
        == 2
    ), "the segment was handed back once"
