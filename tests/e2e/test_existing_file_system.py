"""A stack on a file system and in a network that exist already, both made in the emulator beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout_cli.local import LocalPaths, LocalStack, find_toolchain
from fanout_cli.local.clients import Clients
from fanout_cli.local.deployment import STACK_NAME
from fanout_cli.local.emulator import Emulator

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def make_network(ec2: Any) -> dict[str, str]:
    """A network with two subnets; what parameters name of it."""
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.9.{number}.0/24")["Subnet"]["SubnetId"] for number in range(2)
    ]
    group = ec2.create_security_group(GroupName="mounts", Description="mounts", VpcId=vpc)["GroupId"]
    return {"ExistingSubnetIds": ",".join(subnets), "ExistingSecurityGroupIds": group}


def make_file_system(efs: Any) -> dict[str, str]:
    """A file system with an access point; what parameters name of it."""
    file_system = efs.create_file_system(CreationToken="existing")["FileSystemId"]
    access_point = efs.create_access_point(ClientToken="existing", FileSystemId=file_system)
    return {"ExistingFileSystemId": file_system, "ExistingAccessPointArn": access_point["AccessPointArn"]}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def parameters(state: Path) -> dict[str, str]:
    """Those that name what the emulator holds before the stack is deployed."""
    paths = LocalPaths.find(state=state)
    tools = find_toolchain(paths.repo)
    with Emulator(tools, paths) as emulator:
        emulator.wait()
        clients = Clients(emulator.access)
        made = make_network(clients.client("ec2")) | make_file_system(clients.client("efs"))
        emulator.save()
    return made


@pytest.fixture(scope="module")
def stack(state: Path, parameters: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    mount = tmp_path_factory.mktemp("mount")
    paths = LocalPaths.find(state=state)
    with LocalStack(paths, find_toolchain(paths.repo), {"data": mount}, parameters=parameters) as up:
        yield up, mount


def test_the_stack_makes_neither_file_system_nor_network(stack: Any, parameters: dict[str, str]) -> None:
    up, _ = stack
    efs = up.clients.client("efs")
    file_systems = [one["FileSystemId"] for one in efs.describe_file_systems()["FileSystems"]]
    access_points = [one["AccessPointArn"] for one in efs.describe_access_points()["AccessPoints"]]
    assert file_systems == [parameters["ExistingFileSystemId"]] == [up.outputs["FileSystemId"]]
    assert access_points == [parameters["ExistingAccessPointArn"]] == [up.outputs["AccessPointArn"]]
    assert up.clients.client("ec2").describe_vpc_endpoints()["VpcEndpoints"] == []
    resources = up.clients.cloudformation.describe_stack_resources(StackName=STACK_NAME)["StackResources"]
    assert {"Network", "FileSystem", "AccessPoint"}.isdisjoint(one["LogicalResourceId"] for one in resources)


def test_the_functions_that_mount_are_given_the_access_point_and_its_network(
    stack: Any, parameters: dict[str, str]
) -> None:
    """The emulator forgets what a function mounts; tests/template/test_partitions.py renders it."""
    up, _ = stack
    found = up.clients.cloudformation.describe_stack_resources(StackName=STACK_NAME)["StackResources"]
    [nested] = [one["PhysicalResourceId"] for one in found if one["LogicalResourceId"] == "FirstMount"]
    [described] = up.clients.cloudformation.describe_stacks(StackName=nested)["Stacks"]
    given = {one["ParameterKey"]: one["ParameterValue"] for one in described["Parameters"]}
    assert given["AccessPointArn"] == parameters["ExistingAccessPointArn"]
    assert given["FileSystemId"] == parameters["ExistingFileSystemId"]
    assert given["MountSubnetIds"] == parameters["ExistingSubnetIds"]
    assert given["MountSecurityGroupIds"] == parameters["ExistingSecurityGroupIds"]


def test_a_transfer_writes_to_it(stack: Any) -> None:
    up, mount = stack
    up.clients.s3.create_bucket(Bucket="existing")
    up.clients.s3.put_object(Bucket="existing", Key="in/file", Body=b"x")
    request = {"source": "s3://existing/in/", "destination": "efs:///copy", "verify": "all"}
    assert up.wait(up.start_execution(request, "existing-1"))["status"] == "SUCCEEDED"
    assert (mount / "copy" / "file").read_bytes() == b"x"
