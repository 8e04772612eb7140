"""The rights that the docs name for whoever deploys: what CloudFormation calls in the caller's name for each type."""

from __future__ import annotations

import pytest

from tests.template.templates import REPO, Resource, resources

PAGE = REPO / "docs" / "operate" / "organisation-rules.md"
# The right to tag what is made, by type. AWS's page of the type, under "Permissions" of its tags, or its service's.
# SAM tags its functions, layers' functions and state machines; a stack's own tags reach all of these types.
TAGS = {
    "AWS::CloudFormation::Stack": "cloudformation:TagResource",
    "AWS::CloudWatch::Alarm": "cloudwatch:TagResource",
    "AWS::CloudWatch::CompositeAlarm": "cloudwatch:TagResource",
    "AWS::EC2::RouteTable": "ec2:CreateTags",
    "AWS::EC2::SecurityGroup": "ec2:CreateTags",
    "AWS::EC2::Subnet": "ec2:CreateTags",
    "AWS::EC2::VPC": "ec2:CreateTags",
    "AWS::EC2::VPCEndpoint": "ec2:CreateTags",
    "AWS::EFS::AccessPoint": "elasticfilesystem:TagResource",
    "AWS::EFS::FileSystem": "elasticfilesystem:TagResource",
    "AWS::Events::Rule": "events:TagResource",
    "AWS::IAM::Role": "iam:TagRole",
    "AWS::KMS::Key": "kms:TagResource",
    "AWS::Lambda::EventSourceMapping": "lambda:TagResource",
    "AWS::Lambda::Function": "lambda:TagResource",
    "AWS::Logs::LogGroup": "logs:TagResource",
    "AWS::S3::Bucket": "s3:PutBucketTagging",
    "AWS::SNS::Topic": "sns:TagResource",
    "AWS::SQS::Queue": "sqs:TagQueue",
    "AWS::Scheduler::ScheduleGroup": "scheduler:TagResource",
    "AWS::Serverless::Function": "lambda:TagResource",
    "AWS::Serverless::StateMachine": "states:TagResource",
    "AWS::StepFunctions::StateMachine": "states:TagResource",
}
# Types that get no tag of the stack (docs/operate/organisation-rules.md, "Tags"), or cannot have any.
WITHOUT = {
    "AWS::CloudWatch::Dashboard",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EFS::MountTarget",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::Logs::QueryDefinition",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Subscription",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
    "AWS::Scheduler::Schedule",
    "AWS::Serverless::LayerVersion",
}
# The rights on roles and policies, by the elements of the templates that need them.
ROLES = {
    "AWS::IAM::Role": ("iam:CreateRole", "iam:DeleteRole", "iam:PassRole", "iam:UpdateAssumeRolePolicy"),
    "AWS::IAM::Policy": ("iam:PutRolePolicy", "iam:DeleteRolePolicy"),
    "AWS::IAM::ManagedPolicy": ("iam:CreatePolicy", "iam:CreatePolicyVersion", "iam:AttachRolePolicy"),
}


def types() -> set[str]:
    return {str(one["Type"]) for one in resources().values()}


def tagged(resource: Resource) -> bool:
    """Whether the template itself names tags: these need the right in every deployment."""
    properties = resource.get("Properties", {})
    return bool(properties.get("Tags") or properties.get("FileSystemTags"))


def test_each_type_of_the_templates_is_tagged_by_a_right_or_by_none() -> None:
    assert types() == TAGS.keys() | WITHOUT
    assert not {str(one["Type"]) for one in resources().values() if tagged(one)} & WITHOUT


@pytest.mark.parametrize("action", sorted(set(TAGS.values()) | {one for some in ROLES.values() for one in some}))
def test_the_page_names_the_right(action: str) -> None:
    assert f"`{action}`" in PAGE.read_text(encoding="utf-8")


def test_the_page_names_the_service_of_each_type() -> None:
    """What makes and deletes a resource is a right of its service."""
    text = PAGE.read_text(encoding="utf-8")
    services = {one.partition(":")[0] for one in TAGS.values()}
    assert [one for one in sorted(services) if f"{one}:" not in text] == []
    assert ROLES.keys() <= types()
