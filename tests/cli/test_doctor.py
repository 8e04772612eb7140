"""The doctor on a stack in moto, with things taken away."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from fanout_cli.doctor import inside
from fanout_cli.doctor.network_checks import CALLED, SIGNS
from fanout_cli.doctor.networks import Network
from tests.cli.conftest import REGION, Aws
from tests.template.test_all_in_vpc import interface_endpoints

SERVICE = f"com.amazonaws.{REGION}.s3"
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


@pytest.fixture
def whole(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The stack's outputs; what a function inside says is not moto's affair."""
    [machine] = aws.client("stepfunctions").list_state_machines()["stateMachines"]
    file_system = aws.client("efs").create_file_system(CreationToken="t")["FileSystemId"]
    text = template(StateMachineArn=machine["stateMachineArn"], FileSystemId=file_system)
    aws.client("cloudformation").create_stack(StackName=STACK, TemplateBody=text)
    [described] = aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    monkeypatch.setattr(inside, "functions", lambda _: [])
    outputs = {one["OutputKey"]: one["OutputValue"] for one in described["Outputs"]}
    aws.client("ec2").associate_route_table(RouteTableId=outputs["RouteTable"], SubnetId=outputs["SubnetIds"])
    return outputs


def make_endpoint(aws: Aws, outputs: dict[str, str]) -> None:
    options = {"VpcEndpointType": "Gateway", "ServiceName": SERVICE, "RouteTableIds": [outputs["RouteTable"]]}
    aws.client("ec2").create_vpc_endpoint(VpcId=outputs["VpcId"], **options)


def examined(aws: Aws) -> dict[str, dict[str, str]]:
    answer = aws.fanout("doctor", "--stack", STACK, "--json")
    assert answer.exit_code in (0, 1), answer.stderr
    return {row["name"]: row for row in json.loads(answer.stdout)}


def test_a_missing_gateway_endpoint_is_found_with_its_remedy(aws: Aws, whole: dict[str, str]) -> None:
    name = f"S3 endpoint for {whole['SubnetIds']}"
    missing = examined(aws)[name]
    assert missing["level"] == "fail"
    assert f"aws ec2 create-vpc-endpoint --vpc-id {whole['VpcId']} --service-name {SERVICE}" in missing["remedy"]
    make_endpoint(aws, whole)
    assert examined(aws)[name]["level"] == "ok"


def existing(aws: Aws, whole: dict[str, str], **parameters: str) -> None:
    """Make it a stack on an existing network, with these parameters: it has no output VpcId."""
    text = json.loads(template(**whole))
    del text["Outputs"]["VpcId"]
    text["Parameters"] |= {name: {"Type": "String", "Default": value} for name, value in parameters.items()}
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=json.dumps(text))


def test_the_way_to_s3_of_an_existing_network_is_looked_at_too(aws: Aws, whole: dict[str, str]) -> None:
    existing(aws, whole)
    name = f"S3 endpoint for {whole['SubnetIds']}"
    assert examined(aws)[name]["level"] == "fail"
    make_endpoint(aws, whole)
    assert examined(aws)[name]["level"] == "ok"


def test_so_is_that_of_a_second_file_system(aws: Aws, whole: dict[str, str]) -> None:
    ec2 = aws.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.1.0.0/24")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.1.0.0/25")["Subnet"]["SubnetId"]
    name = f"S3 endpoint for {subnet}"
    existing(aws, whole, SecondAccessPointArn="", SecondSubnetIds="subnet-00000000")
    assert name not in examined(aws)
    existing(aws, whole, SecondAccessPointArn="arn", SecondSubnetIds=subnet)
    found = examined(aws)[name]
    assert found["level"] == "fail" and vpc in found["remedy"]


@pytest.mark.parametrize(("way", "level"), [("nat", "ok"), ("internet", "fail")])
def test_a_way_out_leads_to_s3_unless_it_needs_a_public_address(
    aws: Aws, whole: dict[str, str], way: str, level: str
) -> None:
    ec2 = aws.client("ec2")
    if way == "nat":
        address = ec2.allocate_address(Domain="vpc")["AllocationId"]
        nat = ec2.create_nat_gateway(SubnetId=whole["SubnetIds"], AllocationId=address)["NatGateway"]["NatGatewayId"]
        to = {"NatGatewayId": nat}
    else:
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=whole["VpcId"])
        to = {"GatewayId": gateway}
    ec2.create_route(RouteTableId=whole["RouteTable"], DestinationCidrBlock="0.0.0.0/0", **to)
    assert examined(aws)[f"S3 endpoint for {whole['SubnetIds']}"]["level"] == level


def make_interface(aws: Aws, outputs: dict[str, str], service: str, *, private: bool = True) -> None:
    aws.client("ec2").create_vpc_endpoint(
        VpcEndpointType="Interface",
        ServiceName=f"com.amazonaws.{REGION}.{service}",
        VpcId=outputs["VpcId"],
        SubnetIds=[outputs["SubnetIds"]],
        PrivateDnsEnabled=private,
    )


def test_the_endpoints_are_those_that_the_template_makes() -> None:
    assert {*CALLED, SIGNS} == set(interface_endpoints().values())


def test_endpoints_that_functions_in_the_network_need_are_found_with_their_remedies(
    aws: Aws, whole: dict[str, str]
) -> None:
    names = {service: f"{service} endpoint in {whole['VpcId']}" for service in CALLED}
    existing(aws, whole, AllFunctionsInVpc="false")
    assert not set(names.values()) & set(examined(aws))
    existing(aws, whole, AllFunctionsInVpc="true")
    make_interface(aws, whole, "states")
    make_interface(aws, whole, "lambda", private=False)  # its name leads elsewhere
    found = examined(aws)
    assert {service: found[name]["level"] for service, name in names.items()} == {
        "states": "ok",
        **dict.fromkeys(("elasticfilesystem", "monitoring", "lambda"), "fail"),
    }
    remedy = found[names["monitoring"]]["remedy"]
    assert f"--vpc-endpoint-type Interface --service-name com.amazonaws.{REGION}.monitoring" in remedy
    assert f"--subnet-ids {whole['SubnetIds']}" in remedy


@pytest.mark.parametrize(("partition", "prefix"), [("aws", "com"), ("aws-us-gov", "com"), ("aws-cn", "cn.com")])
def test_an_interface_endpoint_is_named_as_in_its_partition(partition: str, prefix: str) -> None:
    network = Network("vpc-1", ["subnet-1"], "some-region-1", partition, [], [])
    assert network.service("states", "Interface") == f"{prefix}.amazonaws.some-region-1.states"
    assert network.service("s3") == "com.amazonaws.some-region-1.s3"


def test_a_missing_mount_target_is_found(aws: Aws, whole: dict[str, str]) -> None:
    name = f"mount target in {whole['SubnetIds']}"
    assert (examined(aws)[name]["level"], examined(aws)[name]["what"]) == ("fail", "missing")
    aws.client("efs").create_mount_target(FileSystemId=whole["FileSystemId"], SubnetId=whole["SubnetIds"])
    assert examined(aws)[name]["level"] == "ok"


def test_the_rest_of_the_stack_is_looked_at(aws: Aws, whole: dict[str, str]) -> None:
    found = examined(aws)
    levels = {name: row["level"] for name, row in found.items()}
    assert levels["credentials"] == levels["state machine"] == levels["work bucket"] == "ok"
    assert levels["work bucket: lifecycle"] == "warn"
    assert "never deleted" in found["work bucket: lifecycle"]["what"]
    assert all(row["remedy"] for row in found.values() if row["level"] != "ok")
    assert found["inside the network"]["what"] == "the stack has no function CheckMount"
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


def test_less_concurrency_than_the_stack_starts_is_a_warning(
    aws: Aws, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    limit: list[int] = [1_000]
    plain = aws.session._session.create_client

    def client(service: str, **options: Any) -> Any:
        made: Any = plain(service, **options)
        if service == "lambda":
            account = {"AccountLimit": {"UnreservedConcurrentExecutions": limit[0]}}
            monkeypatch.setattr(made, "get_account_settings", lambda: account)
        return made

    monkeypatch.setattr(aws.session._session, "create_client", client)
    found = examined(aws)["Lambda concurrency"]
    assert found["level"] == "warn"
    few = "1,000 functions without a reservation may run in the account; a run starts up to 900 of the stack's 5,000"
    assert found["what"] == few
    limit[0] = 6_000
    assert examined(aws)["Lambda concurrency"]["level"] == "ok"


@pytest.mark.parametrize(
    ("code", "takes"),
    [("PreconditionFailedException", "up to 1,800"), ("ValidationException", "less than 1,800")],
)
def test_what_the_region_takes_of_a_functions_time_is_asked_without_a_change(
    aws: Aws, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch, code: str, takes: str
) -> None:
    asked: list[dict[str, Any]] = []
    plain = aws.session._session.create_client

    def update(**given: Any) -> Any:
        asked.append(given)
        raise ClientError({"Error": {"Code": code, "Message": "no"}}, "UpdateFunctionConfiguration")

    def client(service: str, **options: Any) -> Any:
        made: Any = plain(service, **options)
        if service == "lambda":
            monkeypatch.setattr(made, "update_function_configuration", update)
        return made

    monkeypatch.setattr(aws.session._session, "create_client", client)
    text = json.loads(template(**whole))
    given = {"FunctionSeconds": "900", "FunctionMegabytes": "1769"}
    text["Parameters"] |= {name: {"Type": "Number", "Default": value} for name, value in given.items()}
    text["Outputs"]["PlanTransferFunction"] = {"Value": "plan"}
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=json.dumps(text))
    found = examined(aws)["function size: FunctionSeconds"]
    assert (found["level"], found["what"]) == ("ok", f"900; Lambda takes {takes} here")
    # No function has this revision, so that an update that names it is refused.
    assert {one["RevisionId"] for one in asked} == {"00000000-0000-0000-0000-000000000000"}
    assert [(one.get("Timeout"), one.get("MemorySize")) for one in asked] == [(1_800, None), (None, 32_768)]


@pytest.mark.parametrize(("reserved", "level"), [("4000", "warn"), ("5000", "ok")])
def test_reserved_concurrency_is_what_counts_where_there_is_some(
    aws: Aws, whole: dict[str, str], reserved: str, level: str
) -> None:
    text = json.loads(template(**whole))
    text["Parameters"]["ReservedFanOutConcurrency"] = {"Type": "Number", "Default": reserved}
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=json.dumps(text))
    found = examined(aws)["Lambda concurrency"]
    assert found["level"] == level
    assert f"starts up to {int(reserved):,} of the stack's 5,000" in found["what"]


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


@pytest.fixture
def asked(aws: Aws, whole: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stack that names PlanTransfer; ``answer`` is what the function says, ``invoked`` how it was asked."""
    text = template(**{**whole, "PlanTransferFunction": "plan-1"})
    aws.client("cloudformation").update_stack(StackName=STACK, TemplateBody=text)
    said: dict[str, Any] = {"answer": {}, "invoked": []}
    plain = aws.session._session.create_client

    def invoke(**asking: Any) -> Any:
        said["invoked"].append(asking)
        return {key: io.BytesIO(value) if key == "Payload" else value for key, value in said["answer"].items()}

    def client(service: str, **options: Any) -> Any:
        made: Any = plain(service, **options)
        if service == "lambda":
            monkeypatch.setattr(made, "invoke", invoke)
        return made

    monkeypatch.setattr(aws.session._session, "create_client", client)
    return said


def test_whether_runs_can_be_kept_apart_is_asked_of_the_function_that_does_it(
    aws: Aws, whole: dict[str, str], asked: dict[str, Any]
) -> None:
    row = {"name": "runs at the same time: executions", "level": "fail", "what": "denied", "remedy": "allow it"}
    asked["answer"] = {"Payload": json.dumps({"findings": [row]}).encode()}
    assert examined(aws)[row["name"]] == row
    [asking] = asked["invoked"]
    execution = whole["StateMachineArn"].replace(":stateMachine:", ":execution:") + ":doctor"
    assert (asking["FunctionName"], json.loads(asking["Payload"])) == (
        "plan-1",
        {"step": "ExamineTurns", "execution": execution},
    )


def test_a_function_that_breaks_while_it_is_asked_is_a_finding(aws: Aws, asked: dict[str, Any]) -> None:
    broken = json.dumps({"errorType": "ImportError", "errorMessage": "no module"}).encode()
    asked["answer"] = {"FunctionError": "Unhandled", "Payload": broken}
    found = examined(aws)["runs at the same time"]
    assert (found["level"], found["what"]) == ("fail", "plan-1 failed: no module")
    assert "PlanTransfer" in found["remedy"]


def test_a_stack_of_an_earlier_version_is_told_what_was_not_checked(aws: Aws, whole: dict[str, str]) -> None:
    found = examined(aws)["runs at the same time"]
    assert (found["level"], found["what"]) == ("warn", "not checked: the stack is of an earlier version")


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
