"""A customer's key for everything that the stack keeps: EncryptionKeyArn."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.template.templates import (
    ASKED,
    REPO,
    Resource,
    actions,
    documents,
    functions,
    of_type,
    policies,
    resources,
    roles_with,
    stacks,
    template,
)

KEY = {"Ref": "EncryptionKeyArn"}
NONE = {"Ref": "AWS::NoValue"}
GIVEN = {"Fn::If": ["EncryptsWithKey", KEY, NONE]}
KEEPS = {
    *of_type("AWS::Logs::LogGroup"),
    *of_type("AWS::SQS::Queue"),
    *of_type("AWS::SNS::Topic"),
    *of_type("AWS::S3::Bucket"),
    *of_type("AWS::EFS::FileSystem"),
}


def test_every_log_group_function_and_file_system_has_the_key() -> None:
    groups = of_type("AWS::Logs::LogGroup")
    assert len(groups) > 20
    assert [name for name, group in groups.items() if group["Properties"].get("KmsKeyId") != GIVEN] == []
    assert [name for name, function in functions().items() if function.get("KmsKeyArn") != GIVEN] == []
    assert resources()["FileSystem"]["Properties"]["KmsKeyId"] == GIVEN


def test_the_work_bucket_has_the_key_and_without_one_that_of_s3() -> None:
    condition, own, plain = resources()["WorkBucket"]["Properties"]["BucketEncryption"]["Fn::If"]
    assert condition == "EncryptsWithKey"
    [rule] = own["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY}
    assert rule["BucketKeyEnabled"] is True  # else every object of a ledger is a request to KMS
    assert plain["ServerSideEncryptionConfiguration"] == [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]


@pytest.mark.parametrize("name", sorted(of_type("AWS::SQS::Queue")))
def test_a_queue_has_the_key_and_without_one_that_of_sqs(name: str) -> None:
    queue = resources()[name]["Properties"]
    assert queue["KmsMasterKeyId"] == GIVEN
    assert queue["SqsManagedSseEnabled"] == {"Fn::If": ["EncryptsWithKey", NONE, True]}


def test_the_topic_has_the_key_and_only_without_one_a_key_of_its_own() -> None:
    topic = resources()["NotificationTopic"]["Properties"]
    assert topic["KmsMasterKeyId"] == {"Fn::If": ["EncryptsWithKey", KEY, {"Ref": "NotificationKey"}]}
    assert resources()["NotificationKey"]["Condition"] == "MakesKey"


def test_whatever_keeps_something_is_told_the_key() -> None:
    """Also a template that is added later: every nested stack that makes one of these has the parameter."""
    for path, given in stacks().values():
        made = template(path)["Resources"]
        needs = bool(KEEPS & set(made)) or bool(set(functions()) & set(made))
        assert not needs or given["EncryptionKeyArn"] == KEY


def test_every_function_may_use_the_key_of_the_ledger_and_only_as_s3_uses_it() -> None:
    ledger = ("LedgerPolicy", "ExaminePolicy")
    found = [s for owner, s in policies() if owner in ledger and s.get("Resource") == KEY]
    assert [(sorted(actions(s)), s["Condition"]) for s in found] == [
        (["kms:Decrypt", "kms:GenerateDataKey"], via("s3"))
    ] * 2
    roles = {name: function["Role"]["Fn::GetAtt"][0] for name, function in functions().items()}
    assert roles_with("ExaminePolicy") == {roles[name] for name in ASKED}
    assert roles_with("LedgerPolicy") == {*roles.values()} - {roles[name] for name in ASKED}


def test_the_map_and_what_takes_messages_may_use_it_and_nobody_else() -> None:
    held = {
        (owner, tuple(sorted(actions(s))), str(s["Condition"])) for owner, s in policies() if s.get("Resource") == KEY
    }
    both = ("kms:Decrypt", "kms:GenerateDataKey")
    assert held == {
        ("LedgerPolicy", both, str(via("s3"))),
        ("ExaminePolicy", both, str(via("s3"))),
        ("TransferRole", both, str(via("s3"))),
        ("StartBatchPolicy", ("kms:Decrypt",), str(via("sqs"))),
    }


def via(service: str) -> Resource:
    return {"StringEquals": {"kms:ViaService": {"Fn::Sub": f"{service}.${{AWS::Region}}.${{AWS::URLSuffix}}"}}}


def test_a_statement_about_the_key_is_there_only_with_a_key() -> None:
    """A policy that names no resource cannot be made."""
    bare = [
        name
        for name, resource in resources().items()
        for document in documents(resource.get("Properties", {}))
        for statement in document["Statement"]
        if statement.get("Resource") == KEY
    ]
    assert bare == []


@pytest.fixture(scope="module")
def key_policy() -> list[Any]:
    """The statements of the key policy that docs/operate/encryption-key.md shows."""
    text = (REPO / "docs/operate/encryption-key.md").read_text(encoding="utf-8")
    [block] = [one for one in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if '"kms:' in one]
    statements: list[Any] = json.loads(block)["Statement"]
    return statements


def test_the_documented_key_policy_lets_every_service_in_that_uses_the_key(key_policy: list[Any]) -> None:
    services = [(s["Principal"]["Service"], s) for s in key_policy if "Service" in s["Principal"]]
    # Log groups are encrypted by their region's service; alarms and rules send to the topic and the queues.
    [(logs_service, logs), *others] = services
    assert logs_service == "logs.REGION.amazonaws.com"
    assert [name for name, _ in others] == ["cloudwatch.amazonaws.com", *["events.amazonaws.com"] * 2]
    assert all(set(statement["Action"]) == {"kms:GenerateDataKey", "kms:Decrypt"} for _, statement in others)
    patterns = logs["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    for group in of_type("AWS::Logs::LogGroup").values():
        name = group["Properties"]["LogGroupName"]["Fn::Sub"]
        name = re.sub(r"\$\{(Name|AWS::StackName)\}", "STACK", name)
        assert any(name.startswith(one.partition(":log-group:")[2].removesuffix("*")) for one in patterns), name


def test_the_documented_key_policy_lets_no_service_use_the_key_for_others(key_policy: list[Any]) -> None:
    """Each service is held to this account's own resources, by what its documentation says that it sends to KMS."""
    services = [(s["Principal"]["Service"], s.get("Condition", {})) for s in key_policy if "Service" in s["Principal"]]
    assert all("ACCOUNT" in json.dumps(condition) for _, condition in services)
    held = [condition["ArnLike"] for service, condition in services if service == "events.amazonaws.com"]
    assert held == [
        {f"kms:EncryptionContext:aws:{context}": f"arn:aws:{context.partition(':')[0]}:REGION:ACCOUNT:*"}
        for context in ("sns:topicArn", "sqs:arn")
    ]


def test_the_documented_key_policy_lets_the_roles_of_the_account_use_it(key_policy: list[Any]) -> None:
    [account] = [s for s in key_policy if "AWS" in s["Principal"]]
    assert account["Principal"]["AWS"].endswith(":root")
    used = {action for _, s in policies() if s.get("Resource") == KEY for action in actions(s)}
    assert used <= set(account["Action"]) or account["Action"] == "kms:*"
