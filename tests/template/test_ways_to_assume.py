"""Which functions may assume the roles that requests name: those that reach STS, and IAM asks for no session policy."""

from __future__ import annotations

from typing import Any

import pytest

from fanout.adapters.aws.session_policy import RIGHTS
from tests.functions.test_roles import GIVEN
from tests.support.actions import Need
from tests.support.iam import Given, is_allowed, statements_of
from tests.template.templates import STACK, functions, of_type, resources, template

ROLE = GIVEN.parameters["AssumableRoleArns"]
TAG = "fanout-way-out"
MOUNTED = sorted(set(RIGHTS) - {"PlanTransfer"})
EXPECTED = {
    "none": {"FirstMount": "false", "SecondMount": "false", "Outside": "true"},  # Outside is not deployed
    "buckets": {"FirstMount": "false", "SecondMount": "false", "Outside": "true"},
    "mounts": {"FirstMount": "true", "SecondMount": "true", "Outside": "true"},
}


def has_way_out(way: str) -> dict[str, str]:
    """What the main template says of each nested stack of functions that mount."""
    given = Given({"WayOut": way}, {"MountsLeaveRegion": way == "mounts"})
    mounted = {name: one for name, one in of_type(STACK).items() if "mounted.yaml" in one["Properties"]["TemplateURL"]}
    return {name: given.value(one["Properties"]["Parameters"]["HasWayOut"]) for name, one in mounted.items()}


def may_assume(function: str, way_out: str) -> bool:
    """By the tags that the function's role has in such a stack."""
    given = Given({**GIVEN.parameters, "HasWayOut": way_out}, {**GIVEN.conditions, "AssumesRoles": True})
    role: Any = resources()[functions()[function]["Role"]["Fn::GetAtt"][0]]
    tags = Given({**given.parameters, "AWS::StackName": "fanout"}, {}).value(role["Properties"].get("Tags", []))
    context = {f"aws:PrincipalTag/{one['Key']}": one["Value"] for one in tags}
    return is_allowed(Need("sts:AssumeRole", ROLE, context), statements_of(function, given))


@pytest.mark.parametrize("way", EXPECTED)
def test_only_stacks_of_functions_with_a_way_out_have_the_tag(way: str) -> None:
    assert has_way_out(way) == EXPECTED[way]
    assert template()["Conditions"]["MountsLeaveRegion"] == {"Fn::Equals": [{"Ref": "WayOut"}, "mounts"]}


def test_functions_in_a_network_without_a_way_out_assume_no_role() -> None:
    """Whoever takes over one can send nothing but names in DNS: credentials of another account he gets none."""
    names = [name for name in functions() if name.endswith("Function")]
    assert {name.removesuffix("Function") for name in names if may_assume(name, "false")} == {"PlanTransfer"}
    assert {name.removesuffix("Function") for name in names if may_assume(name, "true")} == set(RIGHTS)
