"""Every function in the network: AllFunctionsInVpc."""

from __future__ import annotations

import re

import pytest

from tests.template.templates import (
    EXAMINES_MOUNT,
    MOUNTED,
    PROBE_MOUNTED,
    REPO,
    actions,
    functions,
    of_type,
    policies,
    resources,
    roles_with,
    stacks,
)
from tests.template.test_abilities import CALLED_BY_SERVICES, CALLED_ELSEWHERE

ADAPTERS = REPO / "layers/core/src/fanout/adapters"
# What boto3 calls a service, and what its endpoint is called.
ENDPOINTS = {
    "stepfunctions": "states",
    "efs": "elasticfilesystem",
    "cloudwatch": "monitoring",
    "lambda": "lambda",
    "kms": "kms",
}
# A new network comes with a file system of EFS; what S3 Files is asked in one is told as not answered.
# What S3 Control is asked for saves reading alone: without an answer all is read (docs/how-to/verify.md).
# A role is assumed outside of one alone: WayOut.
NOT_THERE = {"s3files", "s3control", "sts"}
# What the actions of a service begin with, by the name of its endpoint.
PREFIXES = {"monitoring": "cloudwatch"}
NONE = {"Ref": "AWS::NoValue"}
OUTSIDE = sorted(functions().keys() - MOUNTED - EXAMINES_MOUNT - PROBE_MOUNTED)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_function_that_mounts_nothing_is_in_the_network_only_if_a_parameter_says_so(name: str) -> None:
    condition, inside, outside = functions()[name]["VpcConfig"]["Fn::If"]
    assert (condition, outside) == ("AllInVpc", NONE)
    assert set(inside) == {"SubnetIds", "SecurityGroupIds"}


def test_the_network_is_that_of_the_first_file_system() -> None:
    subnets = {
        "Fn::If": ["MakesFileSystem", {"Fn::GetAtt": ["Network", "Outputs.SubnetIds"]}, joined("ExistingSubnetIds")]
    }
    for name in ("Pacing", "Checksums", "Examining", "Events", "Probe"):
        assert stacks()[name][1]["MountSubnetIds"] == subnets
        assert stacks()[name][1]["AllFunctionsInVpc"] == {"Ref": "AllFunctionsInVpc"}
    _, inside, _ = functions()["PlanTransferFunction"]["VpcConfig"]["Fn::If"]
    made = {"Fn::Split": [",", {"Fn::GetAtt": ["Network", "Outputs.SubnetIds"]}]}
    assert inside["SubnetIds"] == {"Fn::If": ["MakesFileSystem", made, {"Ref": "ExistingSubnetIds"}]}


def joined(parameter: str) -> dict[str, object]:
    return {"Fn::Join": [",", {"Ref": parameter}]}


def interface_endpoints() -> dict[str, str]:
    """The name of each service that a new network has an interface endpoint of, by its resource."""
    found = {}
    for name, one in of_type("AWS::EC2::VPCEndpoint").items():
        properties = one["Properties"]
        if properties["VpcEndpointType"] == "Interface":
            text, words = properties["ServiceName"]["Fn::Sub"]
            # vpc/latest/privatelink: in China these services have names of their own.
            assert words == {"Prefix": {"Fn::If": ["IsChina", "cn.com.amazonaws", "com.amazonaws"]}}
            found[name] = text.removeprefix("${Prefix}.${AWS::Region}.")
    return found


def test_a_new_network_has_an_endpoint_for_every_service_that_a_function_calls() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in ADAPTERS.rglob("*.py"))
    called = set(re.findall(r'\bclient\("(\w+)"', code)) - NOT_THERE
    signed = set(re.findall(r'\bService\("(\w+)"', code))  # by the host's name, which is the endpoint's
    assert {ENDPOINTS[service] for service in called} | signed == set(ENDPOINTS.values())
    assert sorted(interface_endpoints().values()) == sorted(ENDPOINTS.values())


@pytest.mark.parametrize("name", sorted(interface_endpoints()))
def test_an_endpoint_answers_to_the_name_of_its_service_in_both_subnets(name: str) -> None:
    one = resources()[name]
    assert one["Condition"] == ("SignsInVpc" if name == "KeysEndpoint" else "AllInVpc")
    properties = one["Properties"]
    assert properties["PrivateDnsEnabled"] is True
    assert properties["SubnetIds"] == [{"Ref": "SubnetA"}, {"Ref": "SubnetB"}]
    assert properties["SecurityGroupIds"] == [{"Ref": "EndpointSecurityGroup"}]
    [rule] = resources()["EndpointSecurityGroup"]["Properties"]["SecurityGroupIngress"]
    assert (rule["FromPort"], rule["ToPort"], rule["CidrIp"]) == (443, 443, {"Ref": "VpcCidr"})


@pytest.mark.parametrize(("name", "service"), sorted(interface_endpoints().items()))
def test_an_endpoint_lets_pass_what_the_functions_call_with_credentials_of_this_account(
    name: str, service: str
) -> None:
    [statement] = [s for owner, s in policies() if owner == name]
    assert statement["Condition"] == {"StringEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}}}
    prefix = PREFIXES.get(service, service)
    assert set(actions(statement)) == {action for action in CALLED_ELSEWHERE if action.partition(":")[0] == prefix}


def test_every_role_may_be_connected_to_the_network_where_every_function_is() -> None:
    """In the policy that every role has, because one of them has no room for a further policy."""
    network = CALLED_BY_SERVICES["Lambda connects the function to the network"]
    found = {s["Effect"]: s for owner, s in policies() if owner == "RunPolicy" and set(actions(s)) == network}
    assert set(found) == {"Allow", "Deny"}
    denied = {
        "ArnLike": {
            "lambda:SourceFunctionArn": {"Fn::Sub": "arn:${AWS::Partition}:lambda:*:${AWS::AccountId}:function:*"}
        }
    }
    assert found["Deny"]["Condition"] == denied
    statements = resources()["RunPolicy"]["Properties"]["PolicyDocument"]["Statement"]
    conditional = [one["Fn::If"] for one in statements if "Fn::If" in one]
    of_network = [(one[0], one[2]) for one in conditional if one[0] != "UsesAnyAccount"]
    assert of_network == [("AllInVpc", NONE)] * 2
    assert roles_with("RunPolicy") == {function["Role"]["Fn::GetAtt"][0] for function in functions().values()}
