"""A certificate through the deployed stack: KMS of the emulator signs, the command and a checker of others check."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.certificate import checker
from tests.e2e.command import fanout

pytestmark = pytest.mark.e2e
CHECKER = Path(checker.__file__)


def test_a_certificate_is_signed_in_the_stack_and_checked_outside_of_it(up: Any, state: Path, tmp_path: Path) -> None:
    up["s3"].create_bucket(Bucket="certified")
    for number in range(30):
        up["s3"].put_object(Bucket="certified", Key=f"in/d{number % 3}/f{number}", Body=b"%d" % number * number)
    up["s3"].put_object(Bucket="certified", Key="in/big", Body=bytes(range(256)) * 70_000)
    options = ("--verify", "all", "--certificate", "--split-bytes", "8 MiB", "--name", "certified")
    ran = fanout("copy", "s3://certified/in/", "efs:///out", *options, "--local", "--json", "--state", state)
    assert ran.returncode == 0, ran.stderr
    file, key, tree = tmp_path / "certificate.json", tmp_path / "key.pem", up["mount"] / "out"
    for arguments in (("get", "certified", "--output", file), ("key", "--output", key)):
        answer = fanout("certificate", *arguments, "--local", "--state", state)
        assert answer.returncode == 0, answer.stderr
    answer = fanout("certificate", "check", file, "--key", key, "--run", "certified", "--tree", tree, "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["tree_equals"] == ["source", "destination"]
    there = ("--tree", "s3://certified/in/", "--local", "--state", state)
    assert fanout("certificate", "check", file, "--key", key, *there).returncode == 0
    der = tmp_path / "key.der"
    der.write_bytes(base64.b64decode("".join(key.read_text().splitlines()[1:-1])))

    def checked() -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, CHECKER, file, der, tree], capture_output=True, text=True, check=False)

    assert (checked().returncode, checked().stderr) == (0, "")
    summary = json.loads(
        up["s3"].get_object(Bucket=up["outputs"]["WorkBucketName"], Key="runs/certified/summary.json")["Body"].read()
    )
    document = json.loads(file.read_bytes())["document"]
    assert summary["certificate"]["source_tree_digest"] == document["source"]["tree_digest"]
    assert document["key"]["arn"] == summary["certificate"]["signing_key"]
    (tree / "d1/f1").write_bytes(b"2")
    refused = fanout("certificate", "check", file, "--key", key, "--tree", tree)
    assert (refused.returncode, "is not the certified tree" in refused.stderr) == (1, True)
    assert checked().returncode == 1
    verified = fanout(
        *("verify", "s3://certified/in/", "efs:///out", "--certificate", "--name", "differs"),
        *("--local", "--state", state),
    )
    assert verified.returncode == 1
    missing = fanout("certificate", "get", "differs", "--local", "--state", state)
    assert (missing.returncode, "differs has no certificate" in missing.stderr) == (2, True)
