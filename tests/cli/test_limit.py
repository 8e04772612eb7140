"""``fanout limit``, as a person types it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fanout.efs.seconds import DEFAULT_RATES
from fanout.ledger.documents import document_row
from fanout.model.location import Location, MountLocation, S3Location
from fanout.request.parts.limits import Limits
from fanout.request.plan import Plan
from fanout.request.request import Request
from tests.cli.conftest import BUCKET, Aws

MINE = ("--stack", "mine")
MOUNT = MountLocation("data", "copy")


def started(aws: Aws, destination: Location = MOUNT) -> None:
    """A run that goes on."""
    aws.start("run-1", seconds=60)
    request = Request(source=S3Location("b-bucket", "p/"), destination=destination, limits=Limits(10))
    aws.put("runs/run-1/plan.json", document_row(Plan("run-1", request, DEFAULT_RATES)))


def limits(aws: Aws) -> Any:
    row = json.loads(aws.client("s3").get_object(Bucket=BUCKET, Key="runs/run-1/limits.json")["Body"].read())
    return row["bytes_per_second"], row["files_per_second"]


def test_each_rate_is_changed_by_itself_and_taken_away_again(aws: Aws) -> None:
    started(aws)
    changed = aws.fanout("limit", "run-1", *MINE, "--bytes-per-second", "50 MiB")
    assert changed.exit_code == 0, changed.stderr
    assert "at most 52,428,800 bytes a second, within 10 seconds" in changed.stderr
    assert limits(aws) == (50 * 2**20, None)
    changed = aws.fanout("limit", "run-1", *MINE, "--files-per-second", "200", "--json")
    assert json.loads(changed.stdout) == {"run_id": "run-1", "bytes_per_second": 50 * 2**20, "files_per_second": 200}
    assert aws.fanout("limit", "run-1", *MINE, "--bytes-per-second", "none").exit_code == 0
    assert limits(aws) == (None, 200)


def test_without_a_rate_it_shows_those_that_hold(aws: Aws) -> None:
    started(aws)
    shown = aws.fanout("limit", "run-1", *MINE)
    assert shown.exit_code == 0 and "run-1: no limit" in shown.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--bytes-per-second", "1000"), "--bytes-per-second: 1000 is too little; at least 1,048,576, or none"),
        (("--files-per-second", "1000000000001"), "is too much; at most 1,000,000,000,000, or none for no limit"),
        (("--bytes-per-second", "fast"), "--bytes-per-second: 'fast' is not a size"),
        (("--files-per-second", "0"), "--files-per-second: 0 is too little; at least 1, or none for no limit"),
    ],
)
def test_what_can_not_be_is_refused(aws: Aws, given: tuple[str, str], said: str) -> None:
    started(aws)
    refused = aws.fanout("limit", "run-1", *MINE, *given)
    assert refused.exit_code == 2 and said in refused.stderr


def test_bytes_between_two_buckets_are_refused(aws: Aws) -> None:
    started(aws, S3Location("c-bucket", "q/"))
    refused = aws.fanout("limit", "run-1", *MINE, "--bytes-per-second", "50 MiB")
    assert refused.exit_code == 2 and "S3 copies between two buckets by itself" in refused.stderr
    assert aws.fanout("limit", "run-1", *MINE, "--files-per-second", "50").exit_code == 0


def test_a_run_that_has_ended_or_has_no_plan_is_refused(aws: Aws) -> None:
    aws.start("run-1", seconds=60)
    early = aws.fanout("limit", "run-1", *MINE, "--files-per-second", "50")
    assert early.exit_code == 2 and "run-1 has no plan yet; try again in some seconds" in early.stderr
    aws.fanout("stop", "run-1", *MINE)
    late = aws.fanout("limit", "run-1", *MINE, "--files-per-second", "50")
    assert late.exit_code == 2 and "run-1 has ended (ABORTED)" in late.stderr


@pytest.mark.parametrize(
    "found", [b"[]", b"garbage", b'{"schema_version": 2, "files_per_second": 0}', b'{"schema_version": 2, "files_per_s']
)
def test_what_is_not_valid_is_said_and_written_anew(aws: Aws, found: bytes) -> None:
    """What is not given is as the request asks, and not without a limit."""
    aws.start("run-1", seconds=60)
    request = Request(source=S3Location("b-bucket", "p/"), destination=MOUNT, limits=Limits(10, files_per_second=20.0))
    aws.put("runs/run-1/plan.json", document_row(Plan("run-1", request, DEFAULT_RATES)))
    aws.client("s3").put_object(Bucket=BUCKET, Key="runs/run-1/limits.json", Body=found)
    shown = aws.fanout("limit", "run-1", *MINE)
    assert shown.exit_code == 2
    assert "runs/run-1/limits.json is not whole" in shown.stderr
    assert "give --bytes-per-second or --files-per-second to write the file anew" in shown.stderr
    assert aws.fanout("limit", "run-1", *MINE, "--bytes-per-second", "50 MiB").exit_code == 0
    assert limits(aws) == (50 * 2**20, 20)
