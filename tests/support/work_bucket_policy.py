"""The policy of the work bucket of a deployed stack, and what it says to somebody."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.support.actions import Need
from tests.support.iam import Given
from tests.support.resource_policies import Caller, decision, role_of
from tests.template.templates import of_type, resources, stacks, template

ACCOUNT, REGION, STACK = "123456789012", "us-east-1", "fanout"
_NAMES = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Region": REGION,
    "AWS::StackName": STACK,
    "Name": STACK,
    "HasWayOut": "false",
}
# Whom no policy of a user limits: only an explicit denial does.
ROOT = Caller(
    ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root", {"aws:userid": ACCOUNT, "aws:PrincipalArn": f"arn:aws:iam::{ACCOUNT}:root"}
)
_AGAIN = ("SecondMount", "SecondProbe", "Outside")


def id_of(role: str, stack: str = "") -> str:
    """The id of a role of the templates; that of the same role in another nested stack is another."""
    return f"AROA{stack if stack in _AGAIN else ''}{role}"


@cache
def session_of(role: str, stack: str = "") -> Caller:
    """A session of a role of the stack, with the tags of the role."""
    tags = Given(_NAMES, {}).value(resources()[role]["Properties"].get("Tags", []))
    named = {one["Key"]: one["Value"] for one in tags}
    return role_of(ACCOUNT, f"{STACK}-{stack}{role}", role_id=id_of(role, stack), **named)


@cache
def policy_of(bucket: str) -> Mapping[str, Any]:
    """The policy as CloudFormation makes it, of a stack with everything that it may have."""
    conditions = dict.fromkeys(("HasSecondMount", "LeavesRegion", "HasEvents", "Computes", "Mounts"), True)
    parameters = {**_NAMES, "WorkBucket.Arn": f"arn:aws:s3:::{bucket}", "WorkBucket": bucket}
    parameters |= {f"{name}.RoleId": id_of(name) for name in of_type("AWS::IAM::Role")}
    for stack, (path, _) in stacks().items():
        outputs = template(path).get("Outputs", {})
        inside = {f"{name}.RoleId": id_of(name, stack) for name in of_type("AWS::IAM::Role")}
        given = Given(inside, conditions | {"Mounts": stack != "Outside"})
        for name in ("Sessions", "JobSessions"):
            if name in outputs:
                parameters[f"{stack}.Outputs.{name}"] = given.value(outputs[name]["Value"])
    found: Mapping[str, Any] = Given(parameters, conditions).value(
        resources()["WorkBucketPolicy"]["Properties"]["PolicyDocument"]
    )
    return found


def is_denied(caller: Caller, action: str, bucket: str, key: str = "", **context: str) -> bool:
    """Whether the policy of the work bucket denies it to a caller, whatever other policies say."""
    resource = f"arn:aws:s3:::{bucket}" + (f"/{key}" if key else "")
    return decision(policy_of(bucket), caller, Need(action, resource, context)) == "Deny"
