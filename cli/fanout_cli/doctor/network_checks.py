"""Checks of the network: the file system's mount targets, and the way to S3."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.domain.findings import Finding, fail, ok
from fanout_cli.stacks import Stack


def mount_targets(stack: Stack) -> Iterator[Finding]:
    """Whether every subnet of the functions has a mount target that is available."""
    file_system = stack.outputs.get("FileSystemId")
    if not file_system:
        return
    targets = stack.client("efs").describe_mount_targets(FileSystemId=file_system)["MountTargets"]
    states = {target["SubnetId"]: target["LifeCycleState"] for target in targets}
    for subnet in _subnets(stack):
        title, state = f"mount target in {subnet}", states.get(subnet, "missing")
        if state == "available":
            yield ok(title, state)
        else:
            yield fail(title, state, f"make one: aws efs create-mount-target --file-system-id {file_system}")


def gateway_endpoint(stack: Stack) -> Iterator[Finding]:
    """Whether the functions' subnets have a route to S3 through a gateway endpoint."""
    vpc = stack.outputs.get("VpcId")
    if not vpc:
        return
    ec2 = stack.client("ec2")
    service = f"com.amazonaws.{ec2.meta.region_name}.s3"
    found = ec2.describe_vpc_endpoints(
        Filters=[{"Name": "vpc-id", "Values": [vpc]}, {"Name": "service-name", "Values": [service]}]
    )["VpcEndpoints"]
    usable = [one for one in found if one.get("VpcEndpointType") == "Gateway" and one["State"].lower() == "available"]
    routed = {table for one in usable for table in one["RouteTableIds"]}
    tables = ec2.describe_route_tables(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["RouteTables"]
    for subnet in _subnets(stack):
        table, title = _table_of(subnet, tables), f"S3 endpoint for {subnet}"
        if table in routed:
            yield ok(title, f"{table} has a route to S3")
        else:
            remedy = (
                f"aws ec2 create-vpc-endpoint --vpc-id {vpc} --service-name {service} --route-table-ids {table}; "
                "else every function in the network hangs"
            )
            yield fail(title, f"{table} has no route to a gateway endpoint", remedy)


def _subnets(stack: Stack) -> list[str]:
    return [subnet for subnet in stack.outputs.get("SubnetIds", "").split(",") if subnet]


def _table_of(subnet: str, tables: list[dict[str, object]]) -> str:
    """The subnet's own route table, or the network's main one."""
    main = ""
    for table in tables:
        associations: list[dict[str, object]] = table["Associations"]  # type: ignore[assignment]
        for association in associations:
            if association.get("SubnetId") == subnet:
                return str(table["RouteTableId"])
            if association.get("Main"):
                main = str(table["RouteTableId"])
    return main
