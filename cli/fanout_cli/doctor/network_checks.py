"""Checks of the network: mount targets of the file system, ways to S3 and to the services that functions call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanout.ports.finding import Finding, fail, ok
from fanout_cli.doctor.networks import Network, networks, subnets_of
from fanout_cli.stacks import Stack

# The services that functions outside of mounts call, by the names of their endpoints (templates/network.yaml).
CALLED = ("states", "elasticfilesystem", "monitoring", "lambda")
# The same of a stack that signs certificates.
SIGNS = "kms"


def mount_targets(stack: Stack) -> Iterator[Finding]:
    """Whether every subnet of the functions has a mount target that is available."""
    file_system = stack.outputs.get("FileSystemId")
    if not file_system:
        return
    is_s3_files = stack.parameters.get("ExistingFileSystemType") == "s3files"
    states = _targets_of_s3_files(stack, file_system) if is_s3_files else _targets_of_efs(stack, file_system)
    service = "s3files" if is_s3_files else "efs"
    for subnet in subnets_of(stack):
        title, state = f"mount target in {subnet}", states.get(subnet, "missing")
        if state == "available":
            yield ok(title, state)
        else:
            yield fail(title, state, f"make one: aws {service} create-mount-target --file-system-id {file_system}")


def _targets_of_efs(stack: Stack, file_system: str) -> dict[str, str]:
    targets = stack.client("efs").describe_mount_targets(FileSystemId=file_system)["MountTargets"]
    return {target["SubnetId"]: target["LifeCycleState"] for target in targets}


def _targets_of_s3_files(stack: Stack, file_system: str) -> dict[str, str]:
    pages = stack.client("s3files").get_paginator("list_mount_targets").paginate(fileSystemId=file_system)
    return {target["subnetId"]: target.get("status", "unknown") for page in pages for target in page["mountTargets"]}


def way_to_s3(stack: Stack) -> Iterator[Finding]:
    """Whether the functions' subnets reach S3: by a gateway endpoint, an interface endpoint or a way out."""
    for network in networks(stack):
        gateways = {table for one in network.endpoints("s3", "Gateway") for table in one["RouteTableIds"]}
        private = network.private_names("s3")
        for subnet in network.subnets:
            table = network.table_of(subnet)
            title, table_id = f"S3 endpoint for {subnet}", str(table.get("RouteTableId", ""))
            if table_id in gateways:
                yield ok(title, f"{table_id} has a route to S3")
            elif private:
                yield ok(title, f"{private} answers for S3")
            elif way := _way_out(table):
                yield ok(title, f"{table_id} leads to S3 by {way}")
            else:
                remedy = (
                    f"aws ec2 create-vpc-endpoint --vpc-id {network.vpc} --service-name {network.service('s3')} "
                    f"--route-table-ids {table_id}; else every function in the network hangs"
                )
                yield fail(title, f"{table_id} has no route to a gateway endpoint", remedy)


def interface_endpoints(stack: Stack) -> Iterator[Finding]:
    """Whether functions that mount nothing reach the services that they call, where they are in the network too."""
    if stack.parameters.get("AllFunctionsInVpc", "false") != "true":
        return
    own = set(subnets_of(stack))
    called = (*CALLED, SIGNS) if stack.outputs.get("CertificateKeyArn") else CALLED
    for network in networks(stack):
        subnets = [subnet for subnet in network.subnets if subnet in own]
        for service in called if subnets else ():
            yield _reaches(network, subnets, service)


def _reaches(network: Network, subnets: list[str], service: str) -> Finding:
    title, name = f"{service} endpoint in {network.vpc}", network.service(service, "Interface")
    if endpoint := network.private_names(service):
        return ok(title, f"{endpoint} answers for {service}")
    ways = {_way_out(network.table_of(subnet)) for subnet in subnets}
    if "" not in ways:
        return ok(title, f"reached by {', '.join(sorted(ways))}")
    remedy = (
        f"aws ec2 create-vpc-endpoint --vpc-id {network.vpc} --vpc-endpoint-type Interface --service-name {name} "
        f"--subnet-ids {' '.join(subnets)} --private-dns-enabled --security-group-ids with 443 from the functions; "
        "or deploy with AllFunctionsInVpc=false"
    )
    return fail(title, f"{network.vpc} has no endpoint of {name} with private DNS names, and no way out", remedy)


def _way_out(table: dict[str, Any]) -> str:
    """The target of a table's default route; empty if a function without a public address cannot use it."""
    for route in table.get("Routes", ()):
        if route.get("DestinationCidrBlock") != "0.0.0.0/0" or route.get("State", "active") != "active":
            continue
        # An internet gateway drops what has no public address, and functions have none.
        kinds = ("NatGatewayId", "TransitGatewayId", "NetworkInterfaceId", "InstanceId", "VpcPeeringConnectionId")
        found = [route[kind] for kind in kinds if route.get(kind)]
        gateway = str(route.get("GatewayId", ""))
        found += [gateway] if gateway and not gateway.startswith("igw-") else []
        if found:
            return str(found[0])
    return ""
