"""The doctor on networks: ways to S3, endpoints and mount targets that are missing."""

from __future__ import annotations

import pytest

from fanout_cli.doctor.network_checks import CALLED, SIGNS
from fanout_cli.doctor.networks import Network
from tests.cli.conftest import REGION, Aws
from tests.cli.doctor.stack import examined, existing
from tests.template.test_all_in_vpc import interface_endpoints

SERVICE = f"com.amazonaws.{REGION}.s3"


def make_endpoint(aws: Aws, outputs: dict[str, str]) -> None:
    options = {"VpcEndpointType": "Gateway", "ServiceName": SERVICE, "RouteTableIds": [outputs["RouteTable"]]}
    aws.client("ec2").create_vpc_endpoint(VpcId=outputs["VpcId"], **options)


def test_a_missing_gateway_endpoint_is_found_with_its_remedy(aws: Aws, whole: dict[str, str]) -> None:
    name = f"S3 endpoint for {whole['SubnetIds']}"
    missing = examined(aws)[name]
    assert missing["level"] == "fail"
    assert f"aws ec2 create-vpc-endpoint --vpc-id {whole['VpcId']} --service-name {SERVICE}" in missing["remedy"]
    make_endpoint(aws, whole)
    assert examined(aws)[name]["level"] == "ok"


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
