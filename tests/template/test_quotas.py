"""What AWS refuses late, after minutes of creating, the template refuses before anything is made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.template.rendering import PLACES, Place, Stack
from tests.template.templates import template

# IAM's quota of a managed policy, without white space, and Lambda's of all variables of a function.
MANAGED_POLICY = 6_144
ENVIRONMENT = 4_096
KEY = "arn:aws-us-gov:kms:us-gov-west-1:111122223333:key/00000000-0000-0000-0000-000000000000"
POINT = "arn:aws-us-gov:s3files:us-gov-west-1:111122223333:file-system/fs-{0}/access-point/fsap-{0}"
SECOND = {
    "SecondAccessPointArn": POINT.format("2" * 17),
    "SecondFileSystemId": f"fs-{'2' * 17}",
    "SecondFileSystemType": "s3files",
}
EVERY_OPTION = {
    "ExistingAccessPointArn": POINT.format("1" * 17),
    "ExistingFileSystemId": f"fs-{'1' * 17}",
    "ExistingFileSystemType": "s3files",
    "ExistingDirectReadArns": "arn:aws-us-gov:s3:::behind/*",
    "KmsKeyArns": KEY,
    "EncryptionKeyArn": KEY,
    "WayOut": "mounts",
    "ComputedChecksums": "true",
    "Certificates": "true",
    "EventBucketName": "my-data",
    **SECOND,
}
LISTS = [f"{side}{kind}" for side in ("Read", "Write") for kind in ("BucketArns", "ObjectArns", "Prefixes")]


def longest(name: str, one: str) -> str:
    """As many of one value, joined by commas, as a parameter takes."""
    length: int = template()["Parameters"][name]["MaxLength"]
    return ",".join([one] * ((length + 1) // (len(one) + 1)))


def policies(given: dict[str, Any], place: Place = PLACES["aws-us-gov"]) -> dict[str, int]:
    """The characters of each managed policy."""
    return {
        name: len(json.dumps(one["Properties"]["PolicyDocument"], separators=(",", ":")))
        for stack in Stack(place, given=given).every()
        for name, one in stack.resources.items()
        if one["Type"] == "AWS::IAM::ManagedPolicy"
    }


@pytest.mark.parametrize("bucket", ["b-c", "raw-*", "a-name-of-thirty-characters-00", "x" * 63])
@pytest.mark.parametrize("options", [{}, EVERY_OPTION], ids=["no option", "every option"])
def test_a_policy_holds_the_buckets_that_the_parameters_take(bucket: str, options: dict[str, str]) -> None:
    arn = f"arn:aws-us-gov:s3:::{bucket}"
    buckets = {name: longest(name, arn) for name in ("ReadBucketArns", "WriteBucketArns")}
    parts = {name: longest(name, f"{arn}/in/*") for name in ("ReadObjectArns", "WriteObjectArns")}
    prefixes = {name: longest(name, "in/*") for name in ("ReadPrefixes", "WritePrefixes")}
    for given in (buckets, {**buckets, **parts, **prefixes}):
        sizes = policies({**options, **given})
        assert max(sizes.values()) <= MANAGED_POLICY, max(sizes, key=sizes.__getitem__)


@pytest.mark.parametrize("number", [1, 20, 60, 100])
def test_the_size_of_each_policy_is_known_before_a_deployment(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints it, and holds that a list which is too long for a policy is too long for its parameter."""
    given = {name: ",".join(f"arn:aws-us-gov:s3:::data-{one:025}" for one in range(number)) for name in LISTS[::3]}
    sizes = policies({**EVERY_OPTION, **given})
    with capsys.disabled():
        print(f"\n{number} buckets: " + ", ".join(f"{name} {size}" for name, size in sorted(sizes.items())))
    refused = any(len(value) > template()["Parameters"][name]["MaxLength"] for name, value in given.items())
    assert refused or max(sizes.values()) <= MANAGED_POLICY


def environments(given: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The variables of each function, with what SAM adds to all of the main template."""
    for stack in Stack(PLACES["aws-us-gov"], given=given).every():
        shared = stack.shared.get("Environment", {}).get("Variables", {})
        for name, one in stack.resources.items():
            own = one["Properties"].get("Environment", {}).get("Variables", {})
            if one["Type"] == "AWS::Serverless::Function":
                yield name, {**shared, **own}
            elif one["Type"] == "AWS::Lambda::Function":
                yield name, own


def test_the_variables_of_each_function_fit_at_the_parameters_longest() -> None:
    texts = ("AssumableRoleArns", "OtherBucketAccountIds", "AllowedOwners", "Prices", "EventRequest")
    given = {name: "x" * template()["Parameters"][name]["MaxLength"] for name in texts}
    sizes = {
        name: sum(len(key) + len(str(value)) for key, value in variables.items())
        for name, variables in environments({**EVERY_OPTION, **given, "EventPrefix": "p" * 256})
    }
    assert len(sizes) > 20
    assert {name: size for name, size in sizes.items() if size > ENVIRONMENT - 300} == {}


@pytest.mark.parametrize(("given", "times"), [({}, 7), (SECOND, 13), ({**SECOND, "WayOut": "buckets"}, 18)])
def test_the_description_says_how_often_a_reservation_is_taken(given: dict[str, str], times: int) -> None:
    reserved = [
        name
        for stack in Stack(PLACES["aws"], given={**given, "ReservedFanOutConcurrency": 77}).every()
        for name, one in stack.resources.items()
        if one["Properties"].get("ReservedConcurrentExecutions") == 77
    ]
    assert len(reserved) == times
    said = template()["Parameters"]["ReservedFanOutConcurrency"]["Description"]
    assert "7 times with one file system, 13 with two, 5 more with WayOut" in said
