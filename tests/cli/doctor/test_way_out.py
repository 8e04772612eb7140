"""The doctor on the functions outside the network, which ``WayOut`` wants."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from fanout_cli.doctor import stack_checks
from fanout_cli.stacks import Stack
from tests.cli.conftest import Aws

TRUST = {"Version": "2012-10-17", "Statement": []}


class Deployed:
    """The part of a stack that the check asks."""

    def __init__(self, aws: Aws, way: str, functions: dict[str, str]) -> None:
        self._aws, self.parameters = aws, {"WayOut": way} if way else {}
        payload = {"functions": [{"CheckMount": "first"}, {"CheckMount": ""}, functions]}
        definition = {
            "StartAt": "PlanTransfer",
            "States": {"PlanTransfer": {"Type": "Pass", "Parameters": {"Payload": payload}, "End": True}},
        }
        made = aws.client("stepfunctions").create_state_machine(
            name="way-out", roleArn="arn:aws:iam::123456789012:role/transfer", definition=json.dumps(definition)
        )
        self.state_machine_arn = made["stateMachineArn"]

    def client(self, name: str) -> Any:
        return self._aws.client(name)


def function(aws: Aws, name: str, **more: Any) -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", "handler = None")
    iam = aws.client("iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    made = aws.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.13",
        Role=role,
        Handler="app.handler",
        Code={"ZipFile": packed.getvalue()},
        **more,
    )
    arn: str = made["FunctionArn"]
    return arn


def found(aws: Aws, way: str, functions: dict[str, str]) -> list[tuple[str, str]]:
    stack: Any = Deployed(aws, way, functions)
    checked: Stack = stack
    return [(one.level, one.what) for one in stack_checks.way_out(checked)]


@pytest.mark.parametrize("way", ["buckets", "mounts"])
def test_the_functions_outside_the_network_are_counted(aws: Aws, way: str) -> None:
    there = {name: function(aws, f"Outside-{name}") for name in ("CheckMount", "CopyShard")}
    assert found(aws, way, there) == [("ok", f"{way}: 2 functions outside the network")]


def test_a_function_that_is_gone_or_none_at_all_fails(aws: Aws) -> None:
    there = function(aws, "Outside-CheckMount")
    functions = {"CheckMount": there, "CopyShard": f"{there}-gone"}
    assert found(aws, "buckets", functions) == [("fail", "buckets, but CopyShard is not there")]


def test_a_stack_that_wants_them_and_has_none_fails(aws: Aws) -> None:
    nothing = {"CheckMount": "", "CopyShard": ""}
    assert found(aws, "buckets", nothing) == [("fail", "buckets, but no function is outside the network")]


def test_without_a_way_out_none_is_wanted_and_an_earlier_version_has_no_such_parameter(aws: Aws) -> None:
    [(level, what)] = found(aws, "none", {})
    assert level == "ok" and what.startswith("none: no bucket of another region")
    stack: Any = type("Earlier", (), {"parameters": {}})()
    assert list(stack_checks.way_out(stack)) == []


def test_a_function_in_a_network_fails(aws: Aws) -> None:
    """S3 refuses a copy between regions that comes from one."""
    subnet = aws.client("ec2").describe_subnets()["Subnets"][0]["SubnetId"]
    group = aws.client("ec2").describe_security_groups()["SecurityGroups"][0]["GroupId"]
    network = {"SubnetIds": [subnet], "SecurityGroupIds": [group]}
    functions = {"CheckMount": function(aws, "Outside-CheckMount", VpcConfig=network)}
    assert found(aws, "buckets", functions) == [("fail", "buckets, but CheckMount is in a network")]
