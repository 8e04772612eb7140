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
    assert (found["network of mount data: S3"], found["mount data: write"]) == ("ok", "ok")
    apart = ("runs at the same time: lists", "runs at the same time: executions")
    assert [found[name] for name in apart] == ["ok", "ok"]
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"source": "s3://commands/in/", "destination": "efs:///copy"}))
    started = fanout("start", "--detach", request, "--name", "first", *local)
    assert started.returncode == 0, started.stderr
    watcher = subprocess.Popen([FANOUT, "watch", "first", *map(str, local)], stderr=subprocess.PIPE, text=True)
    assert watcher.stderr is not None
    assert watcher.stderr.readline().startswith("watching first")
    os.kill(watcher.pid, signal.SIGINT)
    _, said = watcher.communicate(timeout=60)
    says_how = "was not stopped; come back: fanout watch first --local" in said
    assert (watcher.returncode, says_how) in ((130, True), (0, False))
    assert fanout("watch", "first", *local).returncode == 0
    assert len([path for path in (up["mount"] / "copy").rglob("*") if path.is_file()]) == 300
    (up["mount"] / "copy/d0/f0").unlink()
    retried = fanout("retry", "first", "--name", "second", "--watch", "--json", *local)
    assert retried.returncode == 0, retried.stderr
    totals = json.loads(retried.stdout)["totals"]
    assert [totals[name]["entries"] for name in ("listed", "copied", "unchanged")] == [300, 1, 299], "it was gone"
    report = fanout("report", "second", "--output", tmp_path / "report", "--json", *local)
    assert Path(json.loads(report.stdout)["paths"]["report"]).is_file()
    listed = json.loads(fanout("list", "--json", *local).stdout)
    statuses = {run["run_id"]: run["status"] for run in listed}
    assert (statuses["first"], statuses["second"]) == ("SUCCEEDED", "SUCCEEDED")
    refused = fanout("up", "--state", state)
    assert (refused.returncode, "is up already" in refused.stderr) == (2, True)
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"source": "s3://commands/in/", "destination": "efs:///copy", "colour": 1}))
    invalid = fanout("start", bad, "--watch", *local)
    assert invalid.returncode == 2
    assert "colour: unknown field" in invalid.stderr
    assert fanout("stop", "first", *local).returncode == 0


def test_runs_before_down_are_there_after_up(state: Path, tmp_path: Path) -> None:
    source, mount = tmp_path / "source", tmp_path / "mount"
    for directory in (source, mount):
        directory.mkdir()
    for number in range(20):
        (source / f"f{number}").write_bytes(b"x" * number)
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"source": "s3://again/in/", "destination": "efs:///copy"}))
    mounted, load = ("--mount", f"data={mount}", "--state", state), ("--s3-load", f"{source}=s3://again/in/")
    local, before = ("--local", "--state", state), "before"
    assert fanout("up", *mounted, *load).returncode == 0
    try:
        alone = fanout("start", request, "--name", before, *local)
        assert "SUCCEEDED: listed 20, copied 20" in alone.stderr and " while copying" in alone.stderr
    finally:
        assert fanout("down", "--state", state).returncode == 0
    (source / "f20").write_bytes(b"new")
    up = fanout("up", *mounted, *load)
    assert up.returncode == 0 and "loaded 21 objects into s3://again/in/" in up.stderr, up.stderr
    try:
        report = fanout("report", "--output", tmp_path / "report", "--json", *local)
        assert (report.returncode, json.loads(report.stdout)["run_id"]) == (0, before), report.stderr
        assert fanout("start", request, "--name", "now", "--watch", *local).returncode == 0
        assert (mount / "copy/f20").read_bytes() == b"new"
    finally:
        assert fanout("down", "--state", state).returncode == 0
    assert fanout("up", *mounted).returncode == 0
    try:
        listed = {row["run_id"]: row for row in json.loads(fanout("list", "--json", *local).stdout)}
        assert [(listed[name]["status"], listed[name]["copied"]) for name in (before, "now")] == [
            ("SUCCEEDED", 20),
            ("SUCCEEDED", 1),
        ]
        again = fanout("retry", "now", "--again", "--name", "later", "--watch", "--json", *local)
        assert json.loads(again.stdout)["totals"]["unchanged"]["entries"] == 21, again.stderr
    finally:
        assert fanout("down", "--state", state).returncode == 0
