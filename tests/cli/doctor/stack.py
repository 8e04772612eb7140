"""A stack in moto, and what the doctor says of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.cli.conftest import Aws

STACK = "whole"


def template(**outputs: str) -> str:
    """A stack with a network, its way to S3, and a file system."""
    ref: Callable[[str], Any] = lambda name: {"Ref": name}  # noqa: E731
    network = {"VpcId": ref("Vpc")}
    resources = {
        "Bucket": {
            "Type": "AWS::S3::Bucket",
            "Properties": {
                "BucketEncryption": {
                    "ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]
                },
            },
        },
        "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/24"}},
        "Subnet": {"Type": "AWS::EC2::Subnet", "Properties": {**network, "CidrBlock": "10.0.0.0/25"}},
        "Routes": {"Type": "AWS::EC2::RouteTable", "Properties": network},
    }
    names = {"WorkBucketName": "Bucket", "VpcId": "Vpc", "SubnetIds": "Subnet", "RouteTable": "Routes"}
    values = {output: ref(name) for output, name in names.items()} | outputs
    return json.dumps(
        {
            "Parameters": {"MaxConcurrency": {"Type": "Number", "Default": 5_000}},
            "Resources": resources,
            "Outputs": {name: {"Value": value} for name, value in values.items()},
        }
    )


def examined(aws: Aws) -> dict[str, dict[str, str]]:
    answer = aws.fanout("doctor", "--stack", STACK, "--json")
    assert answer.exit_code in (0, 1), answer.stderr
    return {row["name"]: row for row in json.loads(answer.stdout)}


def existing(aws: Aws, whole: dict[str, str], **parameters: str) -> None:
    """Make it a stack on an existing network, with these parameters: it has no output VpcId."""
    text = json.loads(template(**whole))
    del text["Outputs"]["VpcId"]
    text["Parameters"] |= {name: {"Type": "String", "Default": value} for name, value in parameters.items()}
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=json.dumps(text))
