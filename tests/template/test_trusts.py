"""Who may assume the stack's roles: services, on behalf of this account and of what the stack made alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.iam import Given
from tests.support.iam_patterns import is_like
from tests.template.templates import of_type, policies

ACCOUNT = {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
# By service, how the ARN ends for which it may assume a role. A role of a function is older than the ARN of that.
SOURCES = {
    "lambda.amazonaws.com": None,
    "states.amazonaws.com": ":stateMachine:",
    "scheduler.amazonaws.com": ":schedule-group/",
    # It says of no account for whom it works; nobody can pass a role of another account to it.
    "batchoperations.s3.amazonaws.com": None,
}

# AmazonS3/latest/userguide/batch-ops-iam-role-policies.html
NAMES_NOBODY = {"batchoperations.s3.amazonaws.com"}
# What holds a service to this account. EventBridge names no source to KMS, but SNS names the topic.
OF_ONE = {"aws:SourceAccount", "aws:SourceArn", "kms:EncryptionContext:aws:sns:topicArn"}


@pytest.mark.parametrize("name", sorted(of_type("AWS::IAM::Role")))
def test_a_role_is_assumed_by_one_service_for_this_account_alone(name: str) -> None:
    [trust] = of_type("AWS::IAM::Role")[name]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert (trust["Effect"], trust["Action"], list(trust["Principal"])) == ("Allow", "sts:AssumeRole", ["Service"])
    service = trust["Principal"]["Service"]
    source = SOURCES[service]
    if service in NAMES_NOBODY:
        assert trust.keys() == {"Effect", "Action", "Principal"}
        return
    assert ACCOUNT.items() <= trust["Condition"]["StringEquals"].items()
    if source:
        arn = {**trust["Condition"]["StringEquals"], **trust["Condition"].get("ArnLike", {})}["aws:SourceArn"]
        named = [_text(one) for one in (arn if isinstance(arn, list) else [arn])]
        assert all(source in one or one == "ScheduleGroup.Arn" for one in named)


@pytest.mark.parametrize(("name", "machine"), [("TransferRole", "-transfer"), ("ProbeRole", "-firstProbe")])
def test_the_role_of_a_state_machine_is_assumed_for_that_one_and_the_children_of_its_maps(
    name: str, machine: str
) -> None:
    [trust] = of_type("AWS::IAM::Role")[name]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    names = {"AWS::StackName": "fanout", "Name": "fanout", "LogPrefix": "first", "AWS::AccountId": "123456789012"}
    given = Given({**names, "AWS::Partition": "aws", "AWS::Region": "us-east-1"}, {})
    arns = given.value(trust["Condition"]["ArnLike"]["aws:SourceArn"])
    arns = arns if isinstance(arns, list) else [arns]

    def may(named: str) -> bool:
        return any(is_like(one, f"arn:aws:states:us-east-1:123456789012:stateMachine:{named}") for one in arns)

    assert may(f"fanout{machine}")
    assert may(f"fanout{machine}/CopyShards") is (name == "TransferRole")
    others = (f"fanout{machine}-evil", f"fanout{machine}2", f"a-fanout{machine}", "fanout", f"fanout-b{machine}")
    assert not [one for one in others if may(one)]


def test_a_service_is_let_in_by_a_policy_of_a_resource_only_for_a_source() -> None:
    """Otherwise any account that knows its ARN has the service use it."""
    open_to_all = [
        (name, statement["Action"])
        for name, statement in policies()
        if statement["Effect"] == "Allow" and "Service" in statement.get("Principal", {})
        if statement["Principal"]["Service"] not in NAMES_NOBODY
        if not OF_ONE & {key for one in _conditions(statement) for key in one}
    ]
    assert open_to_all == []


def _conditions(statement: dict[str, Any]) -> list[dict[str, Any]]:
    return list(statement.get("Condition", {}).values())


def _text(arn: Any) -> str:
    return str(arn.get("Fn::Sub") or ".".join(arn["Fn::GetAtt"]))
