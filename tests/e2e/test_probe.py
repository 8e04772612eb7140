"""A probe through the state machine on the local stack, started by the command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from fanout.facts.operations import OPERATIONS_PER_FILE, SMALL_WRITE_OPERATIONS
from tests.e2e.command import fanout

pytestmark = pytest.mark.e2e


def test_a_probe_measures_a_mount_and_the_next_plan_uses_it(state: Path, up: Any, tmp_path: Path) -> None:
    local = ("--local", "--state", state)
    small = ("--budget-bytes", "128 MiB", "--budget-seconds", "900", "--max-functions", "2")
    probed = fanout("probe", *small, "--name", "probe-1", "--output", tmp_path / "probe", "--json", *local)
    assert probed.returncode == 0, probed.stdout + probed.stderr
    answer = json.loads(probed.stdout)
    assert (answer["status"], answer["error"]) == ("SUCCEEDED", None)
    result = json.loads(Path(answer["paths"]["result"]).read_text())
    together = next(one for one in result["experiments"] if one["name"] == "write_by_functions")
    # On a disk so fast that one function has done its part before the other one is awake, the result says so.
    awake = "the functions did not work at the same time"
    assert [one["why"] for one in together["not_measured"]] in ([], [awake])
    assert set(answer["calibration"]["functions"]) == {str(one["functions"]) for one in together["points"]} >= {"1"}
    assert result["budget"]["bytes_used"] <= 128 * 1024 * 1024
    assert Path(answer["paths"]["page"]).is_file()
    assert os.listdir(up["mount"]) == []
    refused = fanout("probe", "--path", "/not-there", "--name", "probe-2", *local)
    assert (refused.returncode, "is not a directory of the mount" in refused.stderr) == (2, True)
    s3 = up["s3"]
    s3.create_bucket(Bucket="probed")
    s3.put_object(Bucket="probed", Key="in/f", Body=b"x")
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"source": "s3://probed/in/", "destination": "efs:///copy"}))
    assert fanout("start", request, "--name", "calibrated", "--watch", *local).returncode == 0
    bucket = up["outputs"]["WorkBucketName"]
    plan = json.loads(s3.get_object(Bucket=bucket, Key="runs/calibrated/plan.json")["Body"].read())
    small_write, create = (answer["calibration"][name] for name in ("small_write_seconds", "create_seconds"))
    more = OPERATIONS_PER_FILE - SMALL_WRITE_OPERATIONS
    assert plan["rates"]["seconds_per_entry"] == pytest.approx((small_write + more * create) / 64)
