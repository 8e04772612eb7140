"""The commands about runs on the local stack, which stays up between them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import FANOUT, fanout

pytestmark = pytest.mark.e2e


def test_a_run_is_started_watched_stopped_and_retried(state: Path, up: Any, tmp_path: Path) -> None:
    local = ("--local", "--state", state)
    s3 = up["s3"]
    s3.create_bucket(Bucket="commands")
    for number in range(300):
        s3.put_object(Bucket="commands", Key=f"in/d{number % 5}/f{number}", Body=b"x" * number)
    examined = fanout("doctor", "--json", *local)
    assert examined.returncode == 0, examined.stdout + examined.stderr
    found = {row["name"]: row["level"] for row in json.loads(examined.stdout)}
    assert (found["S3 from the network"], found["mount data: write"]) == ("ok", "ok")
    apart = ("runs at the same time: lists", "runs at the same time: executions")
    assert [found[name] for name in apart] == ["ok", "ok"]
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"source": "s3://commands/in/", "destination": "efs:///copy"}))
    started = fanout("start", request, "--name", "first", *local)
    assert started.returncode == 0, started.stderr
    watcher = subprocess.Popen([FANOUT, "watch", "first", *map(str, local)], stderr=subprocess.PIPE, text=True)
    assert watcher.stderr is not None
    assert watcher.stderr.readline().startswith("watching first")
    os.kill(watcher.pid, signal.SIGINT)
    _, said = watcher.communicate(timeout=60)
    assert (watcher.returncode, "goes on; come back: fanout watch first --local" in said) in ((130, True), (0, False))
    assert fanout("watch", "first", *local).returncode == 0
    assert len([path for path in (up["mount"] / "copy").rglob("*") if path.is_file()]) == 300
    (up["mount"] / "copy/d0/f0").unlink()
    retried = fanout("retry", "first", "--name", "second", "--watch", "--json", *local)
    assert retried.returncode == 0, retried.stderr
    totals = json.loads(retried.stdout)["totals"]
    assert (totals["listed"]["entries"], totals["unchanged"]["entries"]) == (300, 300)
    report = fanout("report", "second", "--output", tmp_path / "report", "--json", *local)
    assert Path(json.loads(report.stdout)["paths"]["report"]).is_file()
    listed = json.loads(fanout("list", "--json", *local).stdout)
    assert {run["run_id"]: run["status"] for run in listed} == {"first": "SUCCEEDED", "second": "SUCCEEDED"}
    refused = fanout("up", "--state", state)
    assert (refused.returncode, "is up already" in refused.stderr) == (2, True)
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"source": "s3://commands/in/", "destination": "efs:///copy", "colour": 1}))
    invalid = fanout("start", bad, "--watch", *local)
    assert invalid.returncode == 2
    assert "colour: unknown field" in invalid.stderr
    assert fanout("stop", "first", *local).returncode == 0
