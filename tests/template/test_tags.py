"""Tags: CloudFormation gives those of the stack to what it makes, and a run makes nothing that could lack them."""

from __future__ import annotations

from typing import Any

from tests.template.templates import STACK, actions, of_type, policies, resources, template
from tests.template.test_abilities import CALLED_BY_SERVICES

# Every action of a role that makes something, and why what it makes has no tag of its own.
MAKES = {
    "s3:PutObject": "keys of the work bucket name the run, and tags at a destination are the request's",
    "s3:PutObjectTagging": "these are the tags of a copied object",
    "states:StartExecution": "an execution has no tags; StartExecution takes none",
    "s3:CreateJob": "it has a tag of its stack, by which the stack's role may cancel it; its description names the run",
    "logs:CreateLogStream": "a log stream has no tags",
    "logs:CreateLogDelivery": "Step Functions makes it once for its state machine",
    "ec2:CreateNetworkInterface": "Lambda makes it for a function, not for a run",
}
READS = ("Get", "Describe", "List", "Head")
CHANGES = {
    *("logs:PutLogEvents", "logs:UpdateLogDelivery", "logs:DeleteLogDelivery", "logs:PutResourcePolicy"),
    *("xray:PutTraceSegments", "xray:PutTelemetryRecords"),
    *("s3:DeleteObject", "s3:AbortMultipartUpload", "s3:RestoreObject", "s3:UpdateJobStatus", "iam:PassRole"),
    *("states:UpdateMapRun", "states:StopExecution", "states:RedriveExecution"),
    *("sqs:ReceiveMessage", "sqs:DeleteMessage", "sts:AssumeRole", "lambda:InvokeFunction"),
    *("kms:Decrypt", "kms:GenerateDataKey", "s3:PutObjectAcl"),
    *(action for action in CALLED_BY_SERVICES["Lambda mounts the file system"]),
    *("ec2:DeleteNetworkInterface", "ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"),
}


def held() -> set[str]:
    """What the roles of the stack may do."""
    kinds = {"AWS::IAM::Role", "AWS::IAM::ManagedPolicy", "AWS::IAM::Policy"}
    return {
        action
        for name, statement in policies()
        if statement["Effect"] == "Allow" and resources()[name]["Type"] in kinds
        for action in actions(statement)
    }


def test_nothing_that_a_run_makes_lacks_a_tag_that_it_could_have() -> None:
    """An action that is new here makes something: either it gets the tag fanout:run, or a reason above."""
    others = {action for action in held() if not action.partition(":")[2].startswith(READS)}
    assert others - CHANGES == set(MAKES)
    assert others >= CHANGES


def test_no_nested_stack_is_kept_from_the_tags_of_the_main_one() -> None:
    """CloudFormation hands them down; a list of its own would only add to them, and none is needed."""
    nested: list[Any] = [one["Properties"] for one in of_type(STACK).values()]
    assert nested and all("Tags" not in properties for properties in nested)


def test_tags_are_no_parameter() -> None:
    assert [name for name in template()["Parameters"] if "Tag" in name] == []
