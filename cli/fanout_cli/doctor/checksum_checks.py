"""Checks of the jobs of S3 Batch Operations that compute checksums: their role, and the way to ask for them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from botocore.exceptions import ClientError

from fanout.ports.finding import DEPLOY_AGAIN, Finding, fail, ok, warn
from fanout_cli.command_error import code_of
from fanout_cli.stacks import Stack

PARAMETER = "ComputedChecksums"
SERVICE = "batchoperations.s3.amazonaws.com"
_TITLE = "computed checksums"


def computed_checksums(stack: Stack) -> Iterator[Finding]:
    """Whether runs may have S3 compute checksums, and whether S3 may take the role that its jobs are to have."""
    said = stack.parameters.get(PARAMETER)
    if said is None:
        return  # a stack of an earlier version
    if said != "true":
        yield ok(_TITLE, f"{PARAMETER}={said}: a run with checksums: computed is refused")
        return
    function = stack.outputs["PlanTransferFunction"]
    found = stack.client("lambda").get_function_configuration(FunctionName=function)
    role = found.get("Environment", {}).get("Variables", {}).get("FANOUT_CHECKSUM_ROLE", "")
    yield _of_role(stack, role) if role else fail(_TITLE, f"{function} knows no role for jobs", DEPLOY_AGAIN)
    if stack.parameters.get("AllFunctionsInVpc") == "true":
        what = f"ComputeChecksums is in the network, and asks s3-control.{stack.client('s3').meta.region_name}"
        remedy = "give its subnets a way there (docs/operate/organisation-rules.md); else all objects are read"
        yield warn(f"{_TITLE}: way to S3 Control", what, remedy)


def _of_role(stack: Stack, role: str) -> Finding:
    try:
        found = stack.client("iam").get_role(RoleName=role.rpartition("/")[2])["Role"]
    except ClientError as error:
        if code_of(error) != "NoSuchEntity":
            raise
        return fail(_TITLE, f"the role {role} is not there", DEPLOY_AGAIN)
    if SERVICE not in json.dumps(found["AssumeRolePolicyDocument"]):
        return fail(_TITLE, f"the role {role} does not let {SERVICE} take it", DEPLOY_AGAIN)
    return ok(_TITLE, f"jobs of S3 Batch Operations have the role {role}")
