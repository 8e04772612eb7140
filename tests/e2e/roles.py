"""The roles of a deployed stack: what they say, calls of AWS under them, and the same with less said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import boto3
from botocore.exceptions import ClientError

from fanout_cli.local import LocalStack
from fanout_cli.local.deployment import STACK_NAME

Statement = Mapping[str, Any]
Client = Callable[[str], Any]

# The last one is the word of SNS.
DENIALS = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403", "AuthorizationError"}
ALL = "all"
# Every wildcard of a resource becomes this name.
NAME = "permission"
# What the emulator never evaluates: it mounts no file system, has no X-Ray and no S3 Batch Operations, knows no
# condition `s3:x-amz-acl`, and answers anybody who asks for the settings of the account.
UNSEEN = {
    "elasticfilesystem:ClientMount",
    "elasticfilesystem:ClientRootAccess",
    "elasticfilesystem:ClientWrite",
    "iam:PassRole",
    "lambda:GetAccountSettings",
    "s3:CreateJob",
    "s3:DescribeJob",
    "s3:PutObjectAcl",
    "s3:UpdateJobStatus",
    "xray:GetSamplingRules",
    "xray:GetSamplingTargets",
    "xray:PutTelemetryRecords",
    "xray:PutTraceSegments",
}


def _object(arn: str) -> dict[str, str]:
    bucket, _, key = arn.removeprefix("arn:aws:s3:::").partition("/")
    return {"Bucket": bucket, "Key": key}


def _upload(arn: str) -> dict[str, str]:
    return {**_object(arn), "UploadId": "none"}


# A call that needs the permission alone; apart from that it may fail, and changes nothing that another one needs.
CALLS: dict[str, Callable[[Client, str], Any]] = {
    "cloudwatch:GetMetricData": lambda client, arn: client("cloudwatch").get_metric_data(
        MetricDataQueries=[], StartTime=0, EndTime=60
    ),
    "ec2:DescribeNetworkInterfaces": lambda client, arn: client("ec2").describe_network_interfaces(),
    "ec2:DescribeSubnets": lambda client, arn: client("ec2").describe_subnets(),
    "elasticfilesystem:DescribeFileSystems": lambda client, arn: client("efs").describe_file_systems(
        FileSystemId=arn.rpartition("/")[2]
    ),
    "kms:Decrypt": lambda client, arn: client("kms").decrypt(KeyId=arn, CiphertextBlob=b"none"),
    "lambda:InvokeFunction": lambda client, arn: client("lambda").invoke(FunctionName=arn, InvocationType="DryRun"),
    "sns:Publish": lambda client, arn: client("sns").publish(TopicArn=arn, Message="none"),
    "logs:CreateLogStream": lambda client, arn: client("logs").create_log_stream(
        logGroupName=arn.split(":")[6], logStreamName=NAME
    ),
    "logs:DescribeLogGroups": lambda client, arn: client("logs").describe_log_groups(),
    "s3:AbortMultipartUpload": lambda client, arn: client("s3").abort_multipart_upload(**_upload(arn)),
    "s3:DeleteObject": lambda client, arn: client("s3").delete_object(**_object(f"{arn}-deleted")),
    "s3:GetBucketOwnershipControls": lambda client, arn: client("s3").get_bucket_ownership_controls(
        Bucket=arn.rpartition(":")[2]
    ),
    "s3:GetObject": lambda client, arn: client("s3").get_object(**_object(arn)),
    "s3:GetObjectTagging": lambda client, arn: client("s3").get_object_tagging(**_object(arn)),
    "s3:ListBucket": lambda client, arn: client("s3").list_objects_v2(Bucket=arn.rpartition(":")[2], MaxKeys=1),
    "s3:ListBucketMultipartUploads": lambda client, arn: client("s3").list_multipart_uploads(
        Bucket=arn.rpartition(":")[2]
    ),
    "s3:ListMultipartUploadParts": lambda client, arn: client("s3").list_parts(**_upload(arn)),
    "s3:PutObject": lambda client, arn: client("s3").put_object(**_object(arn), Body=b""),
    "s3:PutObjectTagging": lambda client, arn: client("s3").put_object_tagging(**_object(arn), Tagging={"TagSet": []}),
    "s3:RestoreObject": lambda client, arn: client("s3").restore_object(**_object(arn), RestoreRequest={"Days": 1}),
    "sqs:ReceiveMessage": lambda client, arn: client("sqs").receive_message(
        QueueUrl=client("sqs").meta.endpoint_url + f"/000000000000/{arn.rpartition(':')[2]}", MaxNumberOfMessages=1
    ),
    "states:DescribeExecution": lambda client, arn: client("stepfunctions").describe_execution(executionArn=arn),
    "states:GetExecutionHistory": lambda client, arn: client("stepfunctions").get_execution_history(executionArn=arn),
    "states:DescribeMapRun": lambda client, arn: client("stepfunctions").describe_map_run(mapRunArn=arn),
    "states:ListMapRuns": lambda client, arn: client("stepfunctions").list_map_runs(executionArn=arn),
    "states:StartExecution": lambda client, arn: client("stepfunctions").start_execution(
        stateMachineArn=arn, input="no document"
    ),
    "states:StopExecution": lambda client, arn: client("stepfunctions").stop_execution(executionArn=arn),
    "states:UpdateMapRun": lambda client, arn: client("stepfunctions").update_map_run(mapRunArn=arn, maxConcurrency=1),
}


class Role:
    """A role of the stack, as AWS's API knows it."""

    def __init__(self, stack: LocalStack, name: str) -> None:
        self._stack = stack
        self._iam = stack.clients.client("iam")
        self._name = name

    def statements(self) -> list[Statement]:
        """All that its policies say."""
        inline = self._iam.list_role_policies(RoleName=self._name)["PolicyNames"]
        own = [self._iam.get_role_policy(RoleName=self._name, PolicyName=one)["PolicyDocument"] for one in inline]
        return [said for document in [*own, *map(self._document, self._attached())] for said in document["Statement"]]

    @contextmanager
    def saying(self, statements: list[Statement]) -> Iterator[None]:
        """The role says this and nothing else; afterwards what it said before."""
        attached = self._attached()
        inline = {
            one: self._iam.get_role_policy(RoleName=self._name, PolicyName=one)["PolicyDocument"]
            for one in self._iam.list_role_policies(RoleName=self._name)["PolicyNames"]
        }
        for arn in attached:
            self._iam.detach_role_policy(RoleName=self._name, PolicyArn=arn)
        for one in inline:
            self._iam.delete_role_policy(RoleName=self._name, PolicyName=one)
        try:
            self.say(statements)
            yield
        finally:
            with suppress(ClientError):
                self._iam.delete_role_policy(RoleName=self._name, PolicyName=ALL)
            for one, document in inline.items():
                self._put(one, document)
            for arn in attached:
                self._iam.attach_role_policy(RoleName=self._name, PolicyArn=arn)

    def say(self, statements: list[Statement]) -> None:
        """Replace what it says, inside of ``saying``."""
        if not statements:
            self._iam.delete_role_policy(RoleName=self._name, PolicyName=ALL)
            return
        self._put(ALL, {"Version": "2012-10-17", "Statement": statements})

    def client(self) -> Client:
        """A maker of clients of a session of the role; the test may assume it, whoever else may."""
        trusted = self._iam.get_role(RoleName=self._name)["Role"]
        anybody = {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}
        self._trust({"Version": "2012-10-17", "Statement": [anybody]})
        sts = self._stack.clients.client("sts")
        given = sts.assume_role(RoleArn=trusted["Arn"], RoleSessionName="test")["Credentials"]
        self._trust(trusted["AssumeRolePolicyDocument"])
        session = boto3.Session(
            given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], region_name="us-east-1"
        )
        make: Any = session.client
        verify, url = self._stack.clients.access.ca_bundle, self._stack.endpoint
        return cache(lambda service: make(service, endpoint_url=url, verify=verify))

    def _attached(self) -> list[str]:
        found = self._iam.list_attached_role_policies(RoleName=self._name)["AttachedPolicies"]
        return [one["PolicyArn"] for one in found]

    def _document(self, arn: str) -> Any:
        version = self._iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
        return self._iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]

    def _put(self, policy: str, document: Any) -> None:
        self._iam.put_role_policy(RoleName=self._name, PolicyName=policy, PolicyDocument=json.dumps(document))

    def _trust(self, document: Any) -> None:
        self._iam.update_assume_role_policy(RoleName=self._name, PolicyDocument=json.dumps(document))


def roles_of(stack: LocalStack, role: str, below: str = STACK_NAME) -> Iterator[Role]:
    """Every role of this name in the template, in the stack and in those nested in it."""
    for found in stack.clients.cloudformation.describe_stack_resources(StackName=below)["StackResources"]:
        if found["ResourceType"] == "AWS::CloudFormation::Stack":
            yield from roles_of(stack, role, found["PhysicalResourceId"])
        elif found["LogicalResourceId"] == role:
            yield Role(stack, found["PhysicalResourceId"])


def denied(action: str, arn: str, client: Client) -> bool:
    """Whether AWS refuses the call that needs an action on a resource, for want of the permission."""
    try:
        CALLS[action](client, arn)
    except ClientError as error:
        return error.response["Error"]["Code"] in DENIALS
    return False


def permissions(statement: Statement) -> Iterator[tuple[str, str]]:
    """The actions of a statement that can be called, each with a resource of each pattern."""
    for action in listed(statement["Action"]):
        if action in CALLS:
            for pattern in listed(statement["Resource"]):
                yield action, pattern.replace("*", NAME)


def also_allowed(action: str, arn: str, statements: list[Statement]) -> bool:
    """Whether these statements allow it; those of the templates have no condition that a call could meet or not."""
    return any(
        said["Effect"] == "Allow"
        and action in listed(said["Action"])
        and any(fnmatchcase(arn, pattern) for pattern in listed(said["Resource"]))
        for said in statements
    )


def listed(value: Any) -> list[str]:
    """A policy says one thing or a list of them."""
    return [value] if isinstance(value, str) else list(value)
