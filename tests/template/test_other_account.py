"""The policies of docs/how-to/other-account.md let one stack in, and no other principal of its account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fanout.adapters.aws.session_policy import RIGHTS
from tests.functions.test_policies_of_accounts import policies
from tests.support.actions import Need
from tests.support.iam import Given
from tests.support.resource_policies import Caller, decision, role_of
from tests.template.templates import of_type, resources

ACCOUNT, REGION = "111122223333", "eu-west-1"
# The roles that ask for objects of a request's buckets, or for their keys.
OF_DATA = sorted([f"{one}Role" for one in (*RIGHTS, "ComputeChecksums")] + ["ChecksumJobRole"])
KINDS = sorted(title for title in policies() if title != "policy of fanout-data")


def session(stack: str, role: str, path: str = "/", region: str = REGION, account: str = ACCOUNT) -> Caller:
    """The session of a role as CloudFormation makes it for a stack."""
    parameters = {"AWS::Region": region, "AWS::StackName": stack, "Name": stack, "HasWayOut": "false"}
    tags = Given(parameters, {}).value(resources()[role]["Properties"].get("Tags", []))
    return role_of(account, f"{stack}-{role}-1A2B3C", path, **{one["Key"]: one["Value"] for one in tags})


def needs_of(title: str) -> Iterator[Need]:
    """Each right that a policy gives, as a request needs it."""
    for statement in policies()[title]:
        actions = statement["Action"]
        for action in [actions] if isinstance(actions, str) else actions:
            resource = statement.get("Resource", "arn:aws:iam::444455556666:role/fanout-data").replace("*", "x")
            yield Need(action, resource, {"sts:ExternalId": "for-fanout", "aws:SecureTransport": "true"})


def allowed(title: str, caller: Caller) -> list[str]:
    policy: dict[str, Any] = {"Statement": policies()[title]}
    return [need.action for need in needs_of(title) if decision(policy, caller, need) == "Allow"]


@pytest.mark.parametrize("path", ["/", "/apps/", "/apps/fanout/"])
@pytest.mark.parametrize("title", KINDS)
def test_every_role_of_the_stack_that_asks_for_data_is_let_in(title: str, path: str) -> None:
    for role in OF_DATA:
        assert allowed(title, session("fanout", role, path)) == [need.action for need in needs_of(title)], role


@pytest.mark.parametrize("title", KINDS)
def test_nobody_else_is_let_in(title: str) -> None:
    others = [
        session(stack, role) for role in OF_DATA for stack in ("fanout-b", "fanout-CopyShard", "b-fanout", "other")
    ]
    others += [session("fanout", "CopyShardRole", region="us-east-1")]
    others += [session("fanout", "CopyShardRole", account="999988887777")]
    others += [session("fanout", "ScheduleRole"), session("fanout", "TransferRole")]
    others += [role_of(ACCOUNT, "fanout-anything"), role_of(ACCOUNT, "Administrator", "/fanout/")]
    tag = {"aws:PrincipalTag/fanout-stack": f"{REGION}/fanout"}
    for named in ("user/tagged", "user/role/tagged", "federated-user/tagged"):
        arn = f"arn:aws:iam::{ACCOUNT}:{named}"
        others.append(Caller(ACCOUNT, arn, {"aws:PrincipalArn": arn, "aws:PrincipalAccount": ACCOUNT, **tag}))
    assert not [caller.arn for caller in others if allowed(title, caller)]


def test_a_role_has_the_tag_if_it_asks_for_data_and_only_then() -> None:
    tagged = {name for name, one in of_type("AWS::IAM::Role").items() if one["Properties"].get("Tags")}
    assert sorted(tagged) == OF_DATA
