"""The doctor on a stack in moto, with things taken away."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fanout_cli.doctor import inside
from tests.cli.conftest import REGION, Aws
from tests.cli.doctor.stack import STACK, examined, existing


def test_the_rest_of_the_stack_is_looked_at(aws: Aws, whole: dict[str, str]) -> None:
    found = examined(aws)
    levels = {name: row["level"] for name, row in found.items()}
    assert levels["credentials"] == levels["state machine"] == levels["work bucket"] == "ok"
    assert levels["work bucket: lifecycle"] == "warn"
    assert "never deleted" in found["work bucket: lifecycle"]["what"]
    assert all(row["remedy"] for row in found.values() if row["level"] != "ok")
    assert found["inside the network"]["what"] == "the stack has no function ExamineNetwork"
    shown = aws.fanout("doctor", "--stack", STACK)
    assert shown.exit_code == 1
    assert "ok   credentials: " in shown.stdout
    assert re.search(r"[0-9]+ checks: [1-9][0-9]* failed, [0-9]+ with a warning", shown.stderr)


@pytest.mark.parametrize(
    ("read", "write", "second", "level"),
    [
        ("", "", "", "warn"),
        ("arn:aws:s3:::in", "", "", "ok"),
        ("", "arn:aws:s3:::out", "", "ok"),
        ("", "", "arn:aws:elasticfilesystem:eu-west-1:1:access-point/fsap-1", "ok"),
    ],
)
def test_a_stack_that_may_use_no_bucket_is_told(
    aws: Aws, whole: dict[str, str], read: str, write: str, second: str, level: str
) -> None:
    existing(aws, whole, ReadBucketArns=read, WriteBucketArns=write, SecondAccessPointArn=second, SecondSubnetIds="")
    found = examined(aws)["buckets"]
    assert found["level"] == level
    if level == "warn":
        assert "may read and write no bucket" in found["what"] and "ReadBucketArns=" in found["remedy"]
    else:
        assert found["what"] == f"read {read or 'none'}; write {write or 'none'}"


def test_what_may_not_be_looked_at_is_a_warning_and_stops_no_other_check(
    aws: Aws, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: object) -> Any:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "InvokeFunction")

    monkeypatch.setattr(inside, "functions", denied)
    found = examined(aws)
    assert found["inside the network"]["level"] == "warn"
    assert found["inside the network"]["what"].startswith("not checked: InvokeFunction is not permitted")
    assert found["state machine"]["level"] == "ok"


def test_a_stack_without_its_state_machine_or_bucket_is_told(aws: Aws) -> None:
    arn = f"arn:aws:states:{REGION}:123456789012:stateMachine:gone"
    outputs = {"StateMachineArn": {"Value": arn}, "WorkBucketName": {"Value": "gone-bucket-123"}}
    text = json.dumps({"Resources": {"T": {"Type": "AWS::SNS::Topic"}}, "Outputs": outputs})
    aws.client("cloudformation").create_stack(StackName=STACK, TemplateBody=text)
    found = examined(aws)
    assert (found["state machine"]["level"], found["work bucket"]["level"]) == ("fail", "fail")


def test_the_days_that_ledgers_are_kept_are_not_those_of_what_is_staged_beside_them(
    aws: Aws, whole: dict[str, str]
) -> None:
    """As the template has it: all rules are of prefixes of their own."""
    rules = [("runs/", 30), ("staged/", 2)]
    written = [
        {"ID": prefix, "Status": "Enabled", "Filter": {"Prefix": prefix}, "Expiration": {"Days": days}}
        for prefix, days in rules
    ]
    configure = aws.client("s3").put_bucket_lifecycle_configuration
    configure(Bucket=whole["WorkBucketName"], LifecycleConfiguration={"Rules": written})
    assert examined(aws)["work bucket: lifecycle"]["what"] == "runs are kept for 30 days"
    configure(Bucket=whole["WorkBucketName"], LifecycleConfiguration={"Rules": written[1:]})
    assert examined(aws)["work bucket: lifecycle"]["level"] == "warn"
