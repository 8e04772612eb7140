"""Whose buckets the functions may use: a name that a pattern matches can be registered by anybody."""

from __future__ import annotations

import pytest

from tests.functions.kinds_of_runs import SOURCE, WORK
from tests.functions.test_roles import CONDITIONS, PARAMETERS
from tests.support.actions import Need
from tests.support.iam import Given, is_allowed, statements_of, statements_of_role
from tests.template.templates import functions, of_type, stacks, template

OWN, NAMED, OTHER = "123456789012", "210987654321", "666666666666"
CALLED = [f"{name}.Arn" for name in functions()]
OBJECT, LEDGER = f"{SOURCE}/in/f", f"{WORK}/runs/r/plan.json"


@pytest.mark.parametrize(
    ("owner", "named", "resource", "allowed"),
    [
        (OWN, "", OBJECT, True),
        (OWN, NAMED, OBJECT, True),
        (NAMED, NAMED, OBJECT, True),
        (NAMED, "", OBJECT, False),
        (OTHER, NAMED, OBJECT, False),
        (OTHER, "any", OBJECT, True),
        (OTHER, "any", LEDGER, False),
        (OWN, "", LEDGER, True),
        (NAMED, NAMED, LEDGER, False),
        (OTHER, "", LEDGER, False),
    ],
)
@pytest.mark.parametrize("function", ["CopyShardFunction", "VerifyShardFunction", "PlanTransferFunction"])
def test_a_bucket_of_an_account_that_is_not_named_is_denied(
    function: str, owner: str, named: str, resource: str, allowed: bool
) -> None:
    conditions = {**CONDITIONS, "UsesOtherAccounts": bool(named), "UsesAnyAccount": named == "any"}
    given = Given({**PARAMETERS, "OtherBucketAccountIds": named}, conditions)
    arn = f"arn:aws:s3:::{resource}"
    need = Need("s3:GetObject", arn if function != "PlanTransferFunction" or resource == LEDGER else f"{arn}.csv")
    need = Need(need.action, need.resource, {"aws:ResourceAccount": owner})
    assert is_allowed(need, statements_of(function, given)) is allowed


@pytest.mark.parametrize(
    "need",
    [
        Need("s3:GetObject", f"arn:aws:s3:::{LEDGER}"),
        Need("s3:PutObject", f"arn:aws:s3:::{WORK}/runs/r/map-results/copy/x/SUCCEEDED_0.json"),
    ],
)
@pytest.mark.parametrize(("owner", "allowed"), [(OWN, True), (OTHER, False)])
def test_the_state_machine_reads_and_writes_no_bucket_of_another_account(need: Need, owner: str, allowed: bool) -> None:
    """The reader of a Map's items and the writer of its results know no field for the owner of their bucket."""
    own = {**PARAMETERS, "WorkBucket.Arn": f"arn:aws:s3:::{WORK}", "AWS::StackName": "fanout"}
    called = {
        f"{stack}.Outputs.{name}": name
        for stack, (path, _) in stacks().items()
        for name in template(path).get("Outputs", {})
    }
    given = Given({**called, **dict.fromkeys(CALLED, "a-function"), **own}, {**CONDITIONS, "HasSecondMount": False})
    statements = statements_of_role("TransferRole", given)
    assert is_allowed(Need(need.action, need.resource, {"aws:ResourceAccount": owner}), statements) is allowed


def test_every_role_of_a_function_has_the_denial() -> None:
    """It stands in the policy that every function needs to run."""
    for name, role in of_type("AWS::IAM::Role").items():
        service = str(role["Properties"]["AssumeRolePolicyDocument"])
        if "lambda.amazonaws.com" in service and "ManagedPolicyArns" in role["Properties"]:
            assert "RunPolicy" in str(role["Properties"]["ManagedPolicyArns"]), name


def test_the_endpoint_of_the_network_lets_no_other_bucket_through() -> None:
    allowing = of_type("AWS::EC2::VPCEndpoint")["S3Endpoint"]["Properties"]["PolicyDocument"]["Statement"]
    assert all("aws:ResourceAccount" in one["Condition"]["StringEquals"] for one in allowing)
