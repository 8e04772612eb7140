"""A probe through the state machine on the local stack, started by the command."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.e2e.test_command import fanout

pytestmark = pytest.mark.e2e


@pytest.fixture
def up(state: Path, tmp_path: Path) -> Iterator[Any]:
    mount = tmp_path / "mount"
    mount.mkdir()
    answer = fanout("up", "--mount", f"data={mount}", "--json", "--state", state)
    assert answer.returncode == 0, answer.stderr
    yield {**json.loads(answer.stdout), "mount": mount}
    assert fanout("down", "--state", state).returncode == 0


def test_a_probe_measures_a_mount_and_the_next_plan_uses_it(state: Path, up: Any, tmp_path: Path) -> None:
    local = ("--local", "--state", state)
    small = ("--budget-bytes", "128 MiB", "--budget-seconds", "900", "--max-functions", "2")
    probed = fanout("probe", *small, "--name", "probe-1", "--output", tmp_path / "probe", "--json", *local)
    assert probed.returncode == 0, probed.stdout + probed.stderr
    answer = json.loads(probed.stdout)
    assert (answer["status"], answer["error"]) == ("SUCCEEDED", None)
    assert set(answer["calibration"]["functions"]) == {"1", "2"}
    result = json.loads(Path(answer["paths"]["result"]).read_text())
    assert result["budget"]["bytes_used"] <= 128 * 1024 * 1024
    assert Path(answer["paths"]["page"]).is_file()
    assert os.listdir(up["mount"]) == []
    refused = fanout("probe", "--path", "/not-there", "--name", "probe-2", *local)
    assert (refused.returncode, "no directory of the mount" in refused.stderr) == (2, True)
    make: Any = boto3.client
    s3 = make(
        "s3",
        endpoint_url=up["endpoint"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name="us-east-1",
    )
    s3.create_bucket(Bucket="probed")
    s3.put_object(Bucket="probed", Key="in/f", Body=b"x")
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"source": "s3://probed/in/", "destination": "efs:///copy"}))
    assert fanout("start", request, "--name", "calibrated", "--watch", *local).returncode == 0
    bucket = up["outputs"]["WorkBucketName"]
    plan = json.loads(s3.get_object(Bucket=bucket, Key="runs/calibrated/plan.json")["Body"].read())
    small_write, create = (answer["calibration"][name] for name in ("small_write_seconds", "create_seconds"))
    assert plan["rates"]["seconds_per_entry"] == pytest.approx((small_write + 2.5 * create) / 64)
