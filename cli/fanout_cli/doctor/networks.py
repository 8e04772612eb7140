"""The networks that the functions of a stack are in, new or existing, as EC2 describes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fanout_cli.stacks import Stack

# docs.aws.amazon.com/vpc/latest/privatelink: interface endpoints of these partitions whose names begin otherwise.
_PREFIXES = {"aws-cn": "cn.com.amazonaws"}


@dataclass(frozen=True)
class Network:
    """A network and those of its subnets that functions are in."""

    vpc: str
    subnets: Sequence[str]
    region: str
    partition: str
    all_endpoints: Sequence[dict[str, Any]]
    tables: Sequence[dict[str, Any]]

    def service(self, name: str, kind: str = "Gateway") -> str:
        """The name of a service's endpoint."""
        prefix = _PREFIXES.get(self.partition, "com.amazonaws") if kind == "Interface" else "com.amazonaws"
        return f"{prefix}.{self.region}.{name}"

    def endpoints(self, name: str, kind: str) -> list[dict[str, Any]]:
        """The endpoints of a service that are available."""
        wanted = self.service(name, kind)
        return [
            one
            for one in self.all_endpoints
            if one["ServiceName"] == wanted
            and one.get("VpcEndpointType") == kind
            and one["State"].lower() == "available"
        ]

    def private_names(self, name: str) -> str:
        """The interface endpoint that the service's own name leads to; empty for none."""
        found = [one["VpcEndpointId"] for one in self.endpoints(name, "Interface") if one.get("PrivateDnsEnabled")]
        return str(found[0]) if found else ""

    def table_of(self, subnet: str) -> dict[str, Any]:
        """The subnet's own route table, or the network's main one."""
        main: dict[str, Any] = {}
        for table in self.tables:
            for association in table["Associations"]:
                if association.get("SubnetId") == subnet:
                    return table
                if association.get("Main"):
                    main = table
        return main


def subnets_of(stack: Stack) -> list[str]:
    """The subnets of the functions, but for those of a second file system."""
    return _split(stack.outputs.get("SubnetIds", ""))


def networks(stack: Stack) -> Iterator[Network]:
    """The networks of all functions that are in one, those of a second file system too."""
    second = stack.parameters.get("SecondAccessPointArn") and stack.parameters.get("SecondSubnetIds", "")
    subnets = list(dict.fromkeys([*subnets_of(stack), *_split(second or "")]))
    if not subnets:
        return
    ec2 = stack.client("ec2")
    vpcs: dict[str, list[str]] = {}
    for one in ec2.describe_subnets(SubnetIds=subnets)["Subnets"]:
        vpcs.setdefault(one["VpcId"], []).append(one["SubnetId"])
    for vpc, held in vpcs.items():
        of_vpc = [{"Name": "vpc-id", "Values": [vpc]}]
        yield Network(
            vpc,
            [subnet for subnet in subnets if subnet in held],
            ec2.meta.region_name,
            ec2.meta.partition,
            _all(ec2, "describe_vpc_endpoints", "VpcEndpoints", of_vpc),
            _all(ec2, "describe_route_tables", "RouteTables", of_vpc),
        )


def _all(ec2: Any, operation: str, field: str, filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for page in ec2.get_paginator(operation).paginate(Filters=filters) for one in page[field]]


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
