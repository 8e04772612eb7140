"""The templates and state machines as rendered in each partition: nothing of one names another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from cfnlint.api import ManualArgs, lint, lint_file

from tests.template.rendering import PLACES, Place, Stack
from tests.template.templates import EVERY, PROBE_STATE_MACHINE, STATE_MACHINE

ARN = re.compile(r"\barn:([a-z-]*):([a-z0-9-]*)")
# The names of endpoints are the other way round.
HOST = re.compile(r"(?!(?:cn\.)?com\.amazonaws\.)\b(?<!\.)[\w-]+(?:\.[\w-]+)*\.amazonaws\.[\w.]*\w")
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
# Of the EU Sovereign Cloud it knows no region.
KNOWN_TO_CFN_LINT = [PLACES[name].region for name in ("aws-us-gov", "aws-cn")]
ENDPOINTS = {"s3", "states", "elasticfilesystem", "monitoring", "lambda", "kms"}


def everything(place: Place) -> dict[str, str]:
    """Parameters with which every resource is made but those of an existing file system.

    No stack may have them all: WayOut and AllFunctionsInVpc exclude each other.
    """
    arn, at = f"arn:{place.partition}", f"{place.region}:111122223333"
    return {
        "ReadBucketArns": f"{arn}:s3:::a,{arn}:s3:::b",
        "ReadObjectArns": f"{arn}:s3:::a/in/*",
        "ReadPrefixes": "in/*",
        "WriteBucketArns": f"{arn}:s3:::c",
        "WriteObjectArns": f"{arn}:s3:::c/out/*",
        "WritePrefixes": "out/*",
        "KmsKeyArns": f"{arn}:kms:{at}:key/11111111-2222-3333-4444-555555555555",
        "EncryptionKeyArn": f"{arn}:kms:{at}:key/11111111-2222-3333-4444-666666666666",
        "PermissionsBoundaryArn": f"{arn}:iam::111122223333:policy/boundary",
        "AllFunctionsInVpc": "true",
        "WayOut": "buckets",
        "AssumableRoleArns": f"{arn}:iam::444455556666:role/theirs",
        "Certificates": "true",
        "NotifyEmail": "me@example.com",
        "ScheduleExpression": "rate(1 day)",
        "ScheduleRequest": '{"source": "s3://a/in/", "destination": "efs:///a"}',
        "EventBucketName": "a",
        "EventRequest": '{"source": "s3://a/in/", "destination": "efs:///a"}',
        "ExpectRunEveryHours": "25",
        **mount("Second", place),
    }


def mount(which: str, place: Place) -> dict[str, str]:
    """Parameters of a file system that exists already."""
    access_point = f"arn:{place.partition}:elasticfilesystem:{place.region}:111122223333:access-point/fsap-00000009"
    return {
        f"{which}AccessPointArn": access_point,
        f"{which}FileSystemId": "fs-00000009",
        f"{which}SubnetIds": "subnet-00000009",
        f"{which}SecurityGroupIds": "sg-00000009",
    }


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Place:
    return PLACES[request.param]


@cache
def rendered(place: Place, what: str) -> Stack:
    given = {"default": {}, "everything": everything(place), "existing": mount("Existing", place)}
    return Stack(place, given=given[what])


@pytest.fixture(params=["default", "everything", "existing"])
def stack(request: pytest.FixtureRequest, place: Place) -> Stack:
    return rendered(place, request.param)


def texts(value: Any) -> Iterator[str]:
    """Every text in a rendered value, keys too."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield key
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    else:
        yield str(value)


def everything_said(stack: Stack) -> set[str]:
    return {text for one in stack.every() for text in texts([r["Properties"] for r in one.resources.values()])}


def definitions(stack: Stack) -> Iterator[Any]:
    """The state machines with their substitutions, as Step Functions gets them."""
    for one in stack.every():
        for resource in one.resources.values():
            if resource["Type"].endswith("::StateMachine"):
                given = resource["Properties"]["DefinitionSubstitutions"]
                file = STATE_MACHINE if resource["Type"] == "AWS::Serverless::StateMachine" else PROBE_STATE_MACHINE
                yield json.loads(PLACEHOLDER.sub(partial(_substituted, given), file.read_text(encoding="utf-8")))


def _substituted(given: dict[str, str], found: re.Match[str]) -> str:
    return given[found.group(1)]


def tasks(definition: Any) -> Iterator[Any]:
    for state in definition["States"].values():
        if state["Type"] == "Task":
            yield state
        for inner in [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            yield from tasks(inner)


def test_everything_renders_every_template(place: Place) -> None:
    assert {one.path for one in rendered(place, "everything").every()} == set(EVERY)


def test_an_existing_file_system_is_used_and_none_is_made(place: Place) -> None:
    stack = rendered(place, "existing")
    types = {r["Type"] for one in stack.every() for r in one.resources.values()}
    assert not {kind for kind in types if kind.startswith("AWS::EFS::")} and "AWS::EC2::VPC" not in types
    mounted = stack.nested["FirstMount"].resources["CopyShardFunction"]["Properties"]
    [file_system] = mounted["FileSystemConfigs"]
    assert file_system["Arn"] == mount("Existing", place)["ExistingAccessPointArn"]
    assert mounted["VpcConfig"]["SubnetIds"] == ["subnet-00000009"]
    assert mounted["VpcConfig"]["SecurityGroupIds"] == ["sg-00000009"]
    assert stack.output("FileSystemId") == "fs-00000009"


def test_every_arn_is_of_the_partition(stack: Stack) -> None:
    found = [ARN.findall(text) for text in everything_said(stack)]
    assert {partition for several in found for partition, _ in several} == {stack.place.partition}
    services = {service for several in found for _, service in several}
    assert {"s3", "elasticfilesystem", "states", "lambda", "iam", "logs"} <= services


def test_every_host_is_of_the_partition_and_every_principal_is_not(stack: Stack) -> None:
    """Service principals are the same in every partition; hosts end in the partition's suffix."""
    place, hosts = stack.place, {host for text in everything_said(stack) for host in HOST.findall(text)}
    principals = {"states", "lambda", "delivery.logs", "events", "cloudwatch", "scheduler"}
    named = {f"{name}.amazonaws.com" for name in principals}
    assert hosts - named <= {f"{name}.{place.region}.{place.suffix}" for name in ("s3", "sqs", "sns")}
    if stack.given.get("EncryptionKeyArn"):
        assert f"s3.{place.region}.{place.suffix}" in hosts


def test_nothing_is_left_to_fill_in(stack: Stack) -> None:
    left = {text for text in everything_said(stack) for found in PLACEHOLDER.findall(text) if found}
    assert left == set()


def test_endpoints_are_named_as_in_the_partition(place: Place) -> None:
    """As in the list of aws/aws-cdk, packages/aws-cdk-lib/aws-ec2/lib/vpc-endpoint.ts."""
    network = rendered(place, "everything").nested["Network"]
    names = {r["Properties"]["ServiceName"] for r in network.resources.values() if r["Type"] == "AWS::EC2::VPCEndpoint"}
    china = "cn." if place.partition == "aws-cn" else ""
    assert names == {f"{'' if one == 's3' else china}com.amazonaws.{place.region}.{one}" for one in ENDPOINTS}


def test_state_machines_call_the_services_and_functions_of_the_partition(stack: Stack) -> None:
    found = list(definitions(stack))
    assert len(found) == (3 if stack.given.get("SecondAccessPointArn") else 2)
    for definition in found:
        text = json.dumps(definition)
        assert "${" not in text
        assert {partition for partition, _ in ARN.findall(text)} == {stack.place.partition}
        resources = {task["Resource"] for task in tasks(definition)}
        assert resources == {f"arn:{stack.place.partition}:states:::lambda:invoke"}
        for task in tasks(definition):
            named = task["Parameters"].get("FunctionName")
            prefix = f"arn:{stack.place.partition}:lambda:{stack.place.region}:"
            assert named is None or named.startswith(prefix), named


def test_cfn_lint_finds_nothing_in_the_rendered_state_machines() -> None:
    """It does not look into files that a template names, and its schema knows the partition aws alone."""
    place = PLACES["aws"]
    role = f"arn:{place.partition}:iam::111122223333:role/transfer"
    machines = {
        f"Machine{number}": {
            "Type": "AWS::StepFunctions::StateMachine",
            "Properties": {"RoleArn": role, "Definition": definition},
        }
        for number, definition in enumerate(definitions(rendered(place, "everything")))
    }
    assert len(machines) == 3
    assert [str(one) for one in lint(json.dumps({"Resources": machines}), regions=[place.region])] == []


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_cfn_lint_finds_nothing_in_a_region_of_any_partition(path: Path) -> None:
    regions = [PLACES["aws"].region, *KNOWN_TO_CFN_LINT]
    assert [str(one) for one in lint_file(path, ManualArgs(regions=regions))] == []
