"""Which permissions AWS checks for an HTTP request, and for what.

Source: service-authorization/latest/reference/list_amazons3.html.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from fanout.adapters.aws.checksum_jobs import STACK_TAG

# What tests call the work bucket, which the tag of the stack's jobs names.
_WORK = "work-bucket"
_CHECKSUMS = "S3ComputeObjectChecksum"
_KEYS_OF_A_DELETE = re.compile(rb"<Key>(.*?)</Key>", re.DOTALL)

# service-authorization/latest/reference/list_awsstepfunctions.html: what an operation is allowed on, as it is named.
_NAMED_BY = {
    "DescribeExecution": "executionArn",
    "GetExecutionHistory": "executionArn",
    "StartExecution": "stateMachineArn",
    "ListMapRuns": "executionArn",
    "DescribeMapRun": "mapRunArn",
    "UpdateMapRun": "mapRunArn",
}


@dataclass(frozen=True)
class Need:
    """A permission that a request needs, on what, and the condition keys that come with it."""

    action: str
    resource: str
    context: Mapping[str, str] = field(default_factory=dict, hash=False)


def needs(method: str, url: str, headers: Mapping[str, str | bytes], body: bytes | None) -> list[Need]:
    """The permissions that a request with the bucket in its path needs; raises ``ValueError`` for one not known."""
    parts = urlsplit(url)
    query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
    if parts.path.startswith("/2015-02-01/file-systems"):
        return [Need("elasticfilesystem:DescribeFileSystems", f"file-system/{query['FileSystemId']}")]
    for path, action in (("/file-systems/", "GetFileSystem"), ("/access-points/", "GetAccessPoint")):
        if parts.path.startswith(path):
            return [Need(f"s3files:{action}", unquote(parts.path.removeprefix(path)))]
    if parts.path.startswith("/2016-08-19/account-settings"):
        return [Need("lambda:GetAccountSettings", "*")]
    if parts.path.startswith("/v20180820/jobs"):
        return list(_of_job(parts.path, body))
    lowered = {name.lower(): _text(value) for name, value in headers.items()}
    if lowered.get("x-amz-target", "").endswith(".GetMetricData") or parts.path.endswith("/operation/GetMetricData"):
        return [Need("cloudwatch:GetMetricData", "*")]
    service, _, operation = lowered.get("x-amz-target", "").partition(".")
    if service == "AWSStepFunctions":
        return [Need(f"states:{operation}", json.loads(body or b"{}")[_NAMED_BY[operation]])]
    if service == "TrentService":
        asked = json.loads(body or b"{}")
        context = {f"kms:{name}": asked[name] for name in ("SigningAlgorithm", "MessageType") if name in asked}
        return [Need(f"kms:{operation}", asked["KeyId"], context)]
    bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
    return list(_of_bucket(method, bucket, query, body) if not key else _of_object(method, bucket, key, query, lowered))


def _of_job(path: str, body: bytes | None) -> Iterator[Need]:
    """A job of S3 Batch Operations that is created, with the role that it is given, described, or cancelled.

    A status is changed of a job that ``tests.support.s3_control`` created, which takes no other operation and tag.
    """
    if named := path.removeprefix("/v20180820/jobs").removeprefix("/"):
        job_id, _, status = named.partition("/")
        arn = f"arn:aws:s3:us-east-1:123456789012:job/{job_id}"
        context = {"s3:ExistingJobOperation": _CHECKSUMS, f"aws:ResourceTag/{STACK_TAG}": _WORK}
        yield Need("s3:UpdateJobStatus", arn, context) if status else Need("s3:DescribeJob", arn)
        return
    asked = body or b""
    [operation] = re.findall(rb"<Operation><(\w+)", asked)
    tags = re.findall(rb"<Key>(.+?)</Key><Value>(.+?)</Value>", asked)
    context = {f"aws:RequestTag/{key.decode()}": value.decode() for key, value in tags}
    yield Need("s3:CreateJob", "*", {"s3:RequestJobOperation": operation.decode(), **context})
    [role] = re.findall(rb"<RoleArn>(.+?)</RoleArn>", asked)
    yield Need("iam:PassRole", role.decode(), {"iam:PassedToService": "batchoperations.s3.amazonaws.com"})


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _of_bucket(method: str, bucket: str, query: Mapping[str, str], body: bytes | None) -> Iterator[Need]:
    arn = f"arn:aws:s3:::{bucket}"
    if method == "POST" and "delete" in query:
        for key in _KEYS_OF_A_DELETE.findall(body or b""):
            yield Need("s3:DeleteObject", f"{arn}/{key.decode()}")
    elif method == "GET" and "uploads" in query:
        yield Need("s3:ListBucketMultipartUploads", arn)
    elif method == "GET" and "ownershipControls" in query:
        yield Need("s3:GetBucketOwnershipControls", arn)
    elif method == "GET" and "list-type" in query:
        yield Need("s3:ListBucket", arn, {"s3:prefix": query["prefix"]} if "prefix" in query else {})
    elif method == "HEAD":
        yield Need("s3:ListBucket", arn)
    else:
        raise ValueError(f"{method} on the bucket {bucket} with {sorted(query)}: which permission does it need?")


def _of_object(
    method: str, bucket: str, key: str, query: Mapping[str, str], headers: Mapping[str, str]
) -> Iterator[Need]:
    arn = f"arn:aws:s3:::{bucket}/{key}"
    if method in ("GET", "HEAD"):
        plain = "s3:ListMultipartUploadParts" if "uploadId" in query else "s3:GetObject"
        yield Need("s3:GetObjectTagging" if "tagging" in query else plain, arn)
    elif method == "DELETE":
        yield Need("s3:AbortMultipartUpload" if "uploadId" in query else "s3:DeleteObject", arn)
    elif method == "POST" and "restore" in query:
        yield Need("s3:RestoreObject", arn)
    elif method in ("PUT", "POST"):
        yield Need("s3:PutObject", arn)
        if source := headers.get("x-amz-copy-source"):
            yield Need("s3:GetObject", f"arn:aws:s3:::{unquote(source).lstrip('/')}")
            if "uploadId" not in query:  # a copy of the whole takes the tags along
                yield Need("s3:GetObjectTagging", f"arn:aws:s3:::{unquote(source).lstrip('/')}")
                yield Need("s3:PutObjectTagging", arn)
        if acl := headers.get("x-amz-acl"):
            yield Need("s3:PutObjectAcl", arn, {"s3:x-amz-acl": acl})
        if "x-amz-tagging" in headers:
            yield Need("s3:PutObjectTagging", arn)
    else:
        raise ValueError(f"{method} on an object: which permission does it need?")
