"""The doctor on jobs that compute checksums: the parameter, their role, and who may take it."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from moto import mock_aws

from fanout.ports.finding import Finding
from fanout_cli.doctor.checksum_checks import PARAMETER, SERVICE, computed_checksums
from fanout_cli.stacks import Stack

NAME = "fanout-jobs"
ROLE = f"arn:aws:iam::123456789012:role/service/{NAME}"


class Functions:
    """Lambda, whose only function has this environment."""

    def __init__(self, role: str) -> None:
        self.role = role

    def get_function_configuration(self, **asked: str) -> Any:
        assert asked == {"FunctionName": "plan-1"}
        return {"Environment": {"Variables": {"FANOUT_CHECKSUM_ROLE": self.role}}}


def found(role: str = "", trusted: str = "", **parameters: str) -> list[Finding]:
    """What the doctor says of a stack whose role, if there is one, trusts a service."""
    with mock_aws():
        session = boto3.Session("testing", "testing", region_name="eu-west-1")
        if trusted:
            said = {"Effect": "Allow", "Principal": {"Service": trusted}, "Action": "sts:AssumeRole"}
            document = json.dumps({"Version": "2012-10-17", "Statement": [said]})
            session.client("iam").create_role(RoleName=NAME, Path="/service/", AssumeRolePolicyDocument=document)
        client: Any = lambda name: Functions(role) if name == "lambda" else session.client(name)  # noqa: E731
        outputs = {"PlanTransferFunction": "plan-1"}
        return list(computed_checksums(Stack("s", outputs, client, "--stack s", 0.0, parameters)))


def test_a_stack_that_computes_none_says_so_and_one_of_an_earlier_version_nothing() -> None:
    [one] = found(**{PARAMETER: "false"})
    assert (one.level.value, found()) == ("ok", []) and "is refused" in one.what


@pytest.mark.parametrize(
    ("role", "trusted", "level", "what"),
    [
        (ROLE, SERVICE, "ok", f"have the role {ROLE}"),
        (ROLE, "lambda.amazonaws.com", "fail", f"does not let {SERVICE} take it"),
        (ROLE, "", "fail", "is not there"),
        ("", SERVICE, "fail", "plan-1 knows no role for jobs"),
    ],
)
def test_the_role_of_the_jobs_is_looked_at(role: str, trusted: str, level: str, what: str) -> None:
    [one] = found(role, trusted, **{PARAMETER: "true"})
    assert one.level.value == level and what in one.what and bool(one.remedy) is (level == "fail")


def test_in_a_network_the_way_to_s3_control_is_named() -> None:
    _, way = found(ROLE, SERVICE, **{PARAMETER: "true", "AllFunctionsInVpc": "true"})
    assert way.level.value == "warn" and "s3-control.eu-west-1" in way.what
