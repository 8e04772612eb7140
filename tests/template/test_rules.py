"""The rules of the template: which parameters it refuses, and in which words."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.template.templates import template

BUCKET = {"ReadBucketArns": "arn:aws:s3:::a"}
EXISTING = {
    "ExistingAccessPointArn": "arn:aws:elasticfilesystem:eu-west-1:111122223333:access-point/fsap-00000001",
    "ExistingFileSystemId": "fs-00000001",
    "ExistingSubnetIds": "subnet-00000001,subnet-00000002",
    "ExistingSecurityGroupIds": "sg-00000001",
}
SECOND = {name.replace("Existing", "Second"): value.replace("0001", "0009") for name, value in EXISTING.items()}
EVENTS = {"EventBucketName": "my-data", "EventRequest": '{"source": "s3://my-data/", "destination": "efs:///a"}'}
LIMITS = {
    "ReadObjectArns": "arn:aws:s3:::a/in/*",
    "ReadPrefixes": "in/*",
    "WriteBucketArns": "arn:aws:s3:::b",
    "WriteObjectArns": "arn:aws:s3:::b/out/*,arn:aws:s3:::b/more/*",
    "WritePrefixes": "out/*,more/*",
}
SCHEDULE = {"ScheduleExpression": "rate(1 day)", "ScheduleRequest": '{"source": "s3://a/", "destination": "efs:///a"}'}


def value(expression: Any, given: dict[str, str]) -> Any:
    """An expression of a rule, as CloudFormation evaluates it; parameters are text."""
    if not isinstance(expression, dict):
        return str(expression)
    [(function, argument)] = expression.items()
    if function == "Ref":
        parameter = template()["Parameters"][argument]
        found = given.get(argument, str(parameter["Default"]))
        return found.split(",") if parameter["Type"] == "CommaDelimitedList" else found
    arguments = [value(one, given) for one in argument]
    if function == "Fn::Equals":
        return arguments[0] == arguments[1]
    if function == "Fn::Contains":
        return arguments[1] in arguments[0]
    if function == "Fn::Not":
        return not arguments[0]
    return {"Fn::And": all, "Fn::Or": any}[function](arguments)


def refused(given: dict[str, str]) -> list[str]:
    """The sentences of the assertions that do not hold."""
    assert set(given) <= set(template()["Parameters"])
    return [
        assertion["AssertDescription"]
        for rule in template()["Rules"].values()
        if "RuleCondition" not in rule or value(rule["RuleCondition"], given)
        for assertion in rule["Assertions"]
        if not value(assertion["Assert"], given)
    ]


@pytest.mark.parametrize(
    "given",
    [
        {},
        EXISTING,
        SECOND,
        {**EXISTING, **SECOND},
        SCHEDULE,
        EVENTS,
        {**EVENTS, "EventPrefix": "in/"},
        LIMITS,
        {**EXISTING, "MountAccess": "read-only"},
        {"Monitoring": "false"},
        {"NotifyEmail": "a@example.com", "ExpectRunEveryHours": "25"},
        {"PosixUserId": "1000", "RootDirectory": "/data"},
        {**EXISTING, "PosixUserId": "1000"},
        {"ZoneA": "us-east-1a", "ZoneB": "us-east-1b"},
    ],
)
def test_what_is_possible_is_accepted(given: dict[str, str]) -> None:
    assert refused({**BUCKET, **given}) == []


def without(given: dict[str, str], name: str) -> dict[str, str]:
    return {key: text for key, text in given.items() if key != name}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ReadBucketArns": ""}, "at least one bucket"),
        *((without(EXISTING, name), name) for name in EXISTING),
        *((without(SECOND, name), name) for name in SECOND if name != "SecondAccessPointArn"),
        ({**EXISTING, **SECOND, "SecondAccessPointArn": EXISTING["ExistingAccessPointArn"]}, "are to differ"),
        ({**SECOND, "SecondMountName": "data"}, "are to differ"),
        ({"WayOut": "buckets", "AllFunctionsInVpc": "true"}, "AllFunctionsInVpc"),
        ({"WayOut": "mounts"}, "ExistingAccessPointArn"),
        ({"AssumableRoleArns": "arn:aws:iam::444455556666:role/theirs"}, "WayOut"),
        (without(SCHEDULE, "ScheduleRequest"), "ScheduleRequest"),
        (without(SCHEDULE, "ScheduleExpression"), "ScheduleExpression"),
        (without(EVENTS, "EventRequest"), "EventRequest"),
        (without(EVENTS, "EventBucketName"), "EventBucketName"),
        ({"EventPrefix": "in/"}, "EventBucketName"),
        *((without(LIMITS, name), name) for name in LIMITS),
        ({"MountAccess": "read-only"}, "MountAccess"),
        ({"ExistingFileSystemType": "s3files"}, "ExistingFileSystemType"),
        ({"Monitoring": "false", "NotifyEmail": "a@example.com"}, "NotifyEmail"),
        ({"Monitoring": "false", "ExpectRunEveryHours": "25"}, "ExpectRunEveryHours"),
        ({"PosixUserId": "1000"}, "RootDirectory"),
        ({"ZoneA": "us-east-1a"}, "two different zones"),
        ({"ZoneB": "us-east-1a"}, "two different zones"),
        ({"ZoneA": "us-east-1a", "ZoneB": "us-east-1a"}, "two different zones"),
    ],
)
def test_what_is_impossible_is_refused_in_a_sentence(given: dict[str, str], words: str) -> None:
    found = refused({**BUCKET, **given})
    assert found and any(words in sentence for sentence in found)
    assert all(len(sentence.split()) > 4 and sentence.endswith(".") for sentence in found)


def test_no_output_has_the_name_of_a_list_parameter() -> None:
    """``sam build`` takes an output of that name for the parameter, and ends with a TypeError."""
    lists = {name for name, one in template()["Parameters"].items() if one["Type"] == "CommaDelimitedList"}
    assert lists and not lists & set(template()["Outputs"])


EFS = EXISTING["ExistingAccessPointArn"]
S3_FILES = "arn:aws:s3files:eu-west-1:111122223333:file-system/fs-0123456789abcdef0/access-point/fsap-0123456789abcdef0"


@pytest.mark.parametrize("name", ["ExistingAccessPointArn", "SecondAccessPointArn"])
def test_an_access_point_is_one_of_efs_or_of_s3_files(name: str) -> None:
    pattern = template()["Parameters"][name]["AllowedPattern"]
    assert all(re.search(pattern, arn) for arn in ("", EFS, S3_FILES))
    assert not re.search(pattern, "arn:aws:s3:eu-west-1:111122223333:accesspoint/data")
    assert not re.search(pattern, S3_FILES.partition("/access-point")[0])


S3_ACCESS_POINT = "arn:aws:s3:eu-west-1:111122223333:accesspoint/reports-ap"


@pytest.mark.parametrize("name", ["ReadBucketArns", "WriteBucketArns"])
def test_an_access_point_of_s3_may_stand_beside_its_bucket(name: str) -> None:
    pattern = template()["Parameters"][name]["AllowedPattern"]
    assert re.search(pattern, f"arn:aws:s3:::reports,{S3_ACCESS_POINT}")
    assert re.search(pattern, S3_ACCESS_POINT.replace("arn:aws:", "arn:aws-cn:"))
    assert not re.search(pattern, f"{S3_ACCESS_POINT}/object/in/*")
    assert not re.search(pattern, "arn:aws:s3::111122223333:accesspoint/mfzwi23gnjvgw.mrap")


@pytest.mark.parametrize("name", ["ReadObjectArns", "WriteObjectArns"])
def test_objects_of_an_access_point_are_limited_below_it(name: str) -> None:
    pattern = template()["Parameters"][name]["AllowedPattern"]
    assert re.search(pattern, f"arn:aws:s3:::reports/in/*,{S3_ACCESS_POINT}/object/in/*")
    assert not re.search(pattern, S3_ACCESS_POINT)


@pytest.mark.parametrize("name", ["ReadObjectArns", "WriteObjectArns"])
def test_what_limits_objects_names_them(name: str) -> None:
    pattern = template()["Parameters"][name]["AllowedPattern"]
    assert re.search(pattern, "arn:aws:s3:::b/out/*,arn:aws:s3:::b/more/*")
    assert not re.search(pattern, "arn:aws:s3:::b")


def test_a_request_for_events_fits_into_the_environment_of_a_function() -> None:
    """All variables of a function together have 4 KB, and the others need some."""
    assert template()["Parameters"]["EventRequest"]["MaxLength"] <= 2048


@pytest.mark.parametrize("name", ["ZoneA", "ZoneB"])
def test_zones_are_named_as_in_each_partition(name: str) -> None:
    pattern = template()["Parameters"][name]["AllowedPattern"]
    zones = ("", "us-east-1a", "us-gov-west-1b", "cn-north-1a", "eusc-de-east-1a", "ap-southeast-2c")
    assert all(re.search(pattern, zone) for zone in zones)
    assert not re.search(pattern, "use1-az3")
