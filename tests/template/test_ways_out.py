"""Functions that reach both data and the internet, in each form of the network, from the rendered stack."""

from __future__ import annotations

import pytest

from tests.template.rendering import PLACES, Stack
from tests.template.templates import MOUNTED

# Through these a function reads objects of a source or destination.
READS = {"ReadObjectsPolicy", "ReadBackPolicy", "WriteObjectsPolicy", "ShortWayPolicy", "DeleteObjectsPolicy"}
KEYS = {"KmsKeysPolicy", "AskJobsPolicy"}
DATA = {
    "ReadBucketArns": "arn:aws:s3:::data-a",
    "WriteBucketArns": "arn:aws:s3:::data-b",
    "KmsKeyArns": "arn:aws:kms:eu-west-1:111122223333:key/1",
}
COMPUTED = {"ComputedChecksums": "true"}
# The forms of docs/understand/security.md, each with the functions that have data and a way out.
FORMS: dict[str, tuple[dict[str, str], set[str]]] = {
    "default": ({}, {"PlanTransferFunction"}),
    "computed checksums": (COMPUTED, {"PlanTransferFunction", "ComputeChecksumsFunction"}),
    "all in the network": ({"AllFunctionsInVpc": "true"} | COMPUTED, set()),
    "a way out for buckets": ({"WayOut": "buckets"}, {"PlanTransferFunction"} | (MOUNTED - {"CheckMountFunction"})),
}


def outside(given: dict[str, str]) -> dict[str, set[str]]:
    """The managed policies of each function that is in no network, by the function's name."""
    found: dict[str, set[str]] = {}
    for stack in Stack(PLACES["aws"], given=DATA | given).every():
        for name, resource in stack.resources.items():
            shared = {"AWS::Serverless::Function": stack.shared, "AWS::Lambda::Function": {}}.get(resource["Type"])
            if shared is not None and "VpcConfig" not in shared | resource["Properties"]:
                role = stack.resources[name.replace("Function", "Role")]["Properties"]
                found[name] = {arn.rpartition(":")[2] for arn in role.get("ManagedPolicyArns", [])}
    return found


@pytest.mark.parametrize("form", FORMS)
def test_functions_with_data_and_a_way_out_are_those_that_the_page_names(form: str) -> None:
    given, expected = FORMS[form]
    assert {name for name, held in outside(given).items() if held & READS} == expected


def test_a_stack_that_computes_no_checksums_lets_their_function_read_no_data() -> None:
    assert not outside({})["ComputeChecksumsFunction"] & (READS | KEYS)
    assert {"ReadObjectsPolicy", "ReadBackPolicy", *KEYS} <= outside(COMPUTED)["ComputeChecksumsFunction"]
