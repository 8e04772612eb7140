"""A refused request whose bucket, mount or prefix is not there, and one with a close name is."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from fanout_cli.runs.corrections import correction_of
from fanout_cli.stacks import Stack
from tests.cli.conftest import Aws

ASKED = {"source": "s3://my-dta/src/", "destination": "efs://dtaa/x", "mode": "copy", "exclude": ["*.tmp"]}
NO_BUCKET = "source: my-dta does not exist; name a bucket that exists"
NO_MOUNT = "destination: unknown mount 'dtaa'; did you mean efs://data/x? known are data, other"
NO_SLASH = "destination: unknown mount 'x'; did you mean efs:///x? known are data, other"
NOTHING = "source: s3://my-data/in/scr/ holds nothing; check it"


def refused(aws: Aws, message: str, **asked: object) -> str:
    """What the command says after a run that was refused."""
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="my-data", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    for key in ("in/src/a", "in/other/b"):
        s3.put_object(Bucket="my-data", Key=key, Body=b"")
    aws.put("runs/run-1/request.json", {"request": {**ASKED, **asked}})
    aws.summary("run-1", "FAILED")
    aws.change("run-1", error={"name": "InvalidRequest", "message": message})
    return aws.fanout("report", "run-1", "--stack", "mine").stderr


@pytest.mark.parametrize(
    ("message", "source", "right"),
    [
        (NO_BUCKET, "s3://my-dta/src/", "s3://my-data/src/ efs://dtaa/x"),
        (NO_MOUNT, "s3://my-dta/src/", "s3://my-dta/src/ efs://data/x"),
        (NO_SLASH, "s3://my-dta/src/", "s3://my-dta/src/ efs:///x"),
        (NOTHING, "s3://my-data/in/scr", "s3://my-data/in/src/ efs://dtaa/x"),
        (NOTHING, "s3://my-data/in/scr/", "s3://my-data/in/src/ efs://dtaa/x"),
    ],
)
def test_the_next_step_is_the_same_command_with_the_name_that_is_there(
    aws: Aws, message: str, source: str, right: str
) -> None:
    said = refused(aws, message, source=source)
    assert "next: did you mean " in said
    assert f"  fanout copy {right} --exclude '*.tmp' --stack mine" in said


def test_a_request_that_no_command_can_say_is_started_again_with_the_right_place(aws: Aws) -> None:
    said = refused(aws, NO_BUCKET, unheard_of=1)
    assert "  fanout retry run-1 --again --set source=s3://my-data/src/ --stack mine" in said


def test_nothing_close_is_no_question(aws: Aws) -> None:
    said = refused(aws, NO_BUCKET.replace("my-dta", "zzz"), source="s3://zzz/src/")
    assert "did you mean" not in said
    assert "correct the field that the error names" in said


def test_a_user_who_may_not_list_buckets_is_asked_nothing(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(aws, NO_BUCKET)

    class Denied:
        def list_buckets(self) -> None:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListBuckets")

    monkeypatch.setattr("fanout_cli.runs.corrections.asked_of", lambda *_: ASKED)
    stack = Stack("mine", {}, lambda _: Denied(), "--stack mine", 0.1)
    assert correction_of(stack, "run-1", {"name": "InvalidRequest", "message": NO_BUCKET}) is None
