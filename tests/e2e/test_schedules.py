"""Schedules with names on the local stack: each starts a run of its name, under the role of the stack."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import fanout

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def test_a_schedule_starts_runs_that_carry_its_name(state: Path, up: Any, tmp_path: Path) -> None:
    local = ("--local", "--state", state)
    up["s3"].create_bucket(Bucket="scheduled")
    up["s3"].put_object(Bucket="scheduled", Key="in/file", Body=b"data")
    request, other = tmp_path / "request.json", tmp_path / "other.json"
    for path, destination in ((request, "efs:///copy"), (other, "efs:///other")):
        path.write_text(json.dumps({"source": "s3://scheduled/in/", "destination": destination}))

    def schedule(*words: str | Path) -> Any:
        answer = fanout("schedule", *words, "--json", *local)
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    soon = (datetime.now(UTC) + timedelta(seconds=20)).strftime("%Y-%m-%dT%H:%M:%S")
    assert schedule("add", "once", other, "--at", soon)["expression"] == f"at({soon})"
    made = schedule("add", "nightly", request, "--cron", "0 3 * * ? *", "--timezone", "Europe/Berlin")
    assert (made["state"], made["last"], len(made["next"])) == ("ENABLED", None, 3)
    twice = fanout("schedule", "add", "nightly", request, "--rate", "1 day", *local)
    assert (twice.returncode, "there is a schedule 'nightly' already" in twice.stderr) == (2, True)

    assert schedule("pause", "nightly") == {**made, "state": "DISABLED", "next": []}
    assert schedule("resume", "nightly") == made
    now = fanout("schedule", "run", "nightly", "--watch", "--json", *local)
    assert now.returncode == 0, now.stderr
    ran = json.loads(now.stdout)["run_id"]
    assert (up["mount"] / "copy/file").read_bytes() == b"data"

    deadline = time.monotonic() + 120
    while (fired := schedule("show", "once")["last"]) is None or fired["status"] == "RUNNING":
        assert time.monotonic() < deadline, "the schedule has started no run"
        time.sleep(2)
    assert fired["status"] == "SUCCEEDED" and fired["run_id"].startswith("once--")
    assert (up["mount"] / "other/file").read_bytes() == b"data"
    by_schedule = {row["run_id"]: row["schedule"] for row in json.loads(fanout("list", "--json", *local).stdout)}
    assert (by_schedule[ran], by_schedule[fired["run_id"]]) == ("nightly", "once")
    of_one = json.loads(fanout("list", "--schedule", "nightly", "--json", *local).stdout)
    assert [row["run_id"] for row in of_one] == [ran]

    assert schedule("remove", "once") == {"name": "once", "removed": True}
    assert [one["name"] for one in schedule("list")] == ["nightly"]
