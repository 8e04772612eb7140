"""What holds data, and how long."""

from __future__ import annotations

import pytest

from fanout.ledger.run_places import staged_prefix
from tests.template.templates import actions, policies, resources, template


def test_what_is_staged_can_be_removed_and_is_in_the_end() -> None:
    deletes = {(name, str(s["Resource"])) for name, s in policies() if "s3:DeleteObject" in actions(s)}
    staged = str({"Fn::Sub": "arn:${AWS::Partition}:s3:::${WorkBucketName}/staged/*"})
    assert ("StagedPolicy", staged) in deletes
    assert {resource for name, resource in deletes if name == "S3Endpoint"} & {"*", staged}
    rules = resources()["WorkBucket"]["Properties"]["LifecycleConfiguration"]["Rules"]
    (rule,) = [rule for rule in rules if rule["Id"] == "ExpireStaged"]
    assert staged_prefix("run-1").startswith(rule["Prefix"]) and rule["ExpirationInDays"] <= 3


@pytest.mark.parametrize("name", ["WorkBucket", "FileSystem"])
def test_what_holds_data_outlives_the_stack_unless_a_parameter_says_otherwise(name: str) -> None:
    resource = template()["Resources"][name]
    assert resource["DeletionPolicy"] == {"Ref": f"{name}AtDeletion"}
    parameter = template()["Parameters"][f"{name}AtDeletion"]
    # Retain alone also keeps what a first deployment made that failed: a bucket and a file system for each try.
    assert parameter["Default"] == "RetainExceptOnCreate"
    assert parameter["AllowedValues"] == ["RetainExceptOnCreate", "Retain", "Delete"]
    # A change that would replace it never deletes the data, whatever the parameter says.
    assert resource["UpdateReplacePolicy"] == "Retain"
    # The transform AWS::LanguageExtensions refuses a parameter there if the resource has a condition.
    assert template()["Transform"] == "AWS::Serverless-2016-10-31"


def test_the_work_bucket_is_private_encrypted_and_cleaned_up() -> None:
    bucket = resources()["WorkBucket"]["Properties"]
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["BucketEncryption"]
    rules = {rule["Id"]: rule for rule in bucket["LifecycleConfiguration"]["Rules"]}
    assert rules["ExpireRuns"]["ExpirationInDays"] == {"Ref": "WorkRetentionDays"}
    assert rules["AbortUploads"]["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] == 1


def test_the_file_system_is_encrypted_and_allows_nobody_by_itself() -> None:
    assert resources()["FileSystem"]["Properties"]["Encrypted"] is True
    assert [s for owner, s in policies() if owner == "FileSystem" and s["Effect"] == "Allow"] == []
