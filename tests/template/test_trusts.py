"""Who may assume the stack's roles: services, on behalf of this account and of what the stack made alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.template.templates import of_type

ACCOUNT = {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
# By service, how the ARN ends for which it may assume a role. A role of a function is older than the ARN of that.
SOURCES = {
    "lambda.amazonaws.com": None,
    "states.amazonaws.com": ":stateMachine:",
    "scheduler.amazonaws.com": ":schedule-group/",
}


@pytest.mark.parametrize("name", sorted(of_type("AWS::IAM::Role")))
def test_a_role_is_assumed_by_one_service_for_this_account_alone(name: str) -> None:
    [trust] = of_type("AWS::IAM::Role")[name]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
    assert (trust["Effect"], trust["Action"], list(trust["Principal"])) == ("Allow", "sts:AssumeRole", ["Service"])
    source = SOURCES[trust["Principal"]["Service"]]
    assert ACCOUNT.items() <= trust["Condition"]["StringEquals"].items()
    if source:
        arn = {**trust["Condition"]["StringEquals"], **trust["Condition"].get("ArnLike", {})}["aws:SourceArn"]
        assert source in _text(arn) or _text(arn) == "ScheduleGroup.Arn"


def _text(arn: Any) -> str:
    return str(arn.get("Fn::Sub") or ".".join(arn["Fn::GetAtt"]))
