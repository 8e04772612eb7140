"""Whose work bucket a command reads: each request names the stack's account, and no other bucket's request does."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from fanout_cli.account import held_to_owner
from tests.cli.conftest import BUCKET, Aws

ACCOUNT = "123456789012"
MINE = ("--stack", "mine")
COMMANDS = [
    ("list", *MINE),
    ("report", "run-1", *MINE),
    ("entries", "run-1", *MINE),
    ("limit", "run-1", "--files-per-second", "5", *MINE),
    ("versions", "efs:///site", *MINE),
    ("doctor", *MINE),
]


@pytest.fixture
def asked(aws: Aws) -> Any:
    """The parameters of every call of S3 that names a bucket."""
    found: list[tuple[str, dict[str, Any]]] = []

    def keep(params: dict[str, Any], model: Any, **_: Any) -> None:
        found.append((model.name, dict(params)))

    events = aws.session.events
    events.register_last("before-parameter-build.s3", keep, unique_id="kept")
    yield found
    events.unregister("before-parameter-build.s3", unique_id="kept")


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_every_command_names_the_owner_of_the_work_bucket(aws: Aws, asked: Any, words: tuple[str, ...]) -> None:
    aws.fanout(
        "start", aws.file({"source": "s3://a-bucket/in/", "destination": "efs:///out"}), "--name", "run-1", *MINE
    )
    aws.fanout(*words)
    there = [params for _, params in asked if params.get("Bucket") == BUCKET]
    assert there
    assert [params.get("ExpectedBucketOwner") for params in there] == [ACCOUNT] * len(there)


def test_another_bucket_belongs_to_whomever(aws: Aws, asked: Any) -> None:
    outputs = {"WorkBucketName": BUCKET, "StateMachineArn": f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:m"}
    make: Any = aws.session.client
    s3 = held_to_owner(make, outputs)("s3")
    with pytest.raises(ClientError):
        s3.list_objects_v2(Bucket="another")
    assert s3.list_objects_v2(Bucket=BUCKET)["KeyCount"] == 0
    assert [params.get("ExpectedBucketOwner") for _, params in asked] == [None, ACCOUNT]
