"""Each function's role against the requests that it makes, recorded while whole runs go through the handlers.

The handlers run in this process against moto's S3. Every request is translated into the permissions that AWS checks for
it, and these are looked up in the policies of the function's own role, with the parameters of a stack that reads parts
of one bucket and writes a part of another.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest
from botocore.httpsession import URLLib3Session

from fanout.adapters.http.transport import Transport
from fanout.certificate.document import KEY_SPEC
from fanout.runtime import bootstrap
from tests.functions.conftest import Invoke
from tests.functions.kinds_of_runs import SOURCE, TARGET, WORK, every_run, large_runs, short_runs
from tests.functions.map_server import map_server
from tests.functions.test_start_batch import WAITS
from tests.support.actions import Need, needs
from tests.support.handler_flow import HandlerFlow
from tests.support.iam import Given, Statement, is_allowed, statements_of
from tests.support.s3_control import ROLE, is_s3_itself, over, s3_control
from tests.template.templates import functions
from tests.template.test_abilities import CALLED_BY_SERVICES

CONDITIONS = {
    **dict.fromkeys(
        ("ReadsBuckets", "WritesBuckets", "HasSecondMount", "Stages", "Root", "Writes", "UsesKmsKeys"), True
    ),
    **dict.fromkeys(("LimitsReadObjects", "LimitsReadPrefixes", "LimitsWriteObjects", "LimitsWritePrefixes"), True),
    "CopiesTags": True,
    "EncryptsWithKey": True,
    "UsesOtherAccounts": False,
    "UsesAnyAccount": False,
    "AllInVpc": True,
    "LeavesRegion": False,
    "AssumesRoles": False,
    "HasOutside": False,
    "Mounts": True,
    "IsS3Files": False,
    "HasS3Files": False,
    "ReadsDirectly": False,
    "Certifies": True,
    **dict.fromkeys(("Computes", "ReadsToCompute", "ReadsBackToCompute", "UsesKeysToCompute"), True),
}
PARAMETERS = {
    "AWS::Partition": "aws",
    "AWS::Region": "us-east-1",
    "AWS::AccountId": "123456789012",
    "OtherBucketAccountIds": "",
    "WayOut": "none",
    "HasWayOut": "true",
    "AssumableRoleArns": "arn:aws:iam::444455556666:role/their-data",
    "AWS::URLSuffix": "amazonaws.com",
    "Name": "fanout",
    "LogPrefix": "",
    "WorkBucketName": WORK,
    "WorkBucketArn": f"arn:aws:s3:::{WORK}",
    "ReadBucketArns": f"arn:aws:s3:::{SOURCE}",
    "ReadObjectArns": ",".join(f"arn:aws:s3:::{SOURCE}/{name}/*" for name in ("in", "lists", "moved")),
    "ReadPrefixes": "in/*,moved/*",
    "WriteBucketArns": f"arn:aws:s3:::{TARGET},arn:aws:s3:::{SOURCE}",
    "WriteObjectArns": f"arn:aws:s3:::{TARGET}/out/*,arn:aws:s3:::{SOURCE}/moved/*",
    "WritePrefixes": "out/*,moved/*",
    "KmsKeyArns": "arn:aws:kms:us-east-1:123456789012:key/1",
    "EncryptionKeyArn": "arn:aws:kms:us-east-1:123456789012:key/2",
    "CertificateKey.Arn": "arn:aws:kms:us-east-1:123456789012:key/*",
    "FileSystemId": "fs-1",
    "FileSystemArns": "file-system/fs-*",
    "AccessPointArn": "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-1",
    "StateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:fanout-transfer",
    "ChecksumJobRole.Arn": ROLE,
    "ObjectEventsQueue.Arn": "arn:aws:sqs:us-east-1:123456789012:fanout-events",
}
GIVEN = Given(PARAMETERS, CONDITIONS)
# What a role holds for what no run here comes to, each with its reason.
NOT_SEEN_HERE = {
    ("CopyShardFunction", "s3:AbortMultipartUpload"): "an upload whose source fails in the middle is given up",
    (
        "CopyShardFunction",
        "s3:ListMultipartUploadParts",
    ): "whether an upload that nobody answered is whole",
    ("FinishTreeFunction", "s3:ListMultipartUploadParts"): "the same",
    ("ShortWayFunction", "s3:ListMultipartUploadParts"): "the same",
    ("FinishTreeFunction", "s3:GetObject"): "an upload whose completion was answered by nobody is looked at",
    ("FinishTreeFunction", "s3:ListBucket"): "and may be missing",
    ("FinishShardFunction", "s3:ListMultipartUploadParts"): "the same, of a tree that one function does not finish",
    ("FinishShardFunction", "s3:GetObject"): "the same",
    ("FinishShardFunction", "s3:ListBucket"): "the same",
    (
        "PlanTransferFunction",
        "s3:ListBucketMultipartUploads",
    ): "ends in buckets of two names that may overlap",
    ("PlanTransferFunction", "s3:GetBucketOwnershipControls"): "a destination of another account",
    ("BeginVerificationFunction", "s3:GetObject"): "the secret, of a copy that is to be certified",
    ("RecordShardFailureFunction", "s3:GetObject"): "the same, of a shard that failed for good",
    ("SummariseTransferFunction", "kms:Verify"): "a certificate of an earlier attempt is looked at",
    ("PlanProbeFunction", "s3:GetObject"): "one policy lets every function read the ledger",
    ("StartBatchFunction", "s3:GetObject"): "the same",
    ("StartBatchFunction", "s3:ListBucket"): "the same",
    ("RemoveDirectoriesFunction", "s3:ListBucket"): "one policy lets both ends be listed, and it needs the source",
    ("RemoveDirectoriesFunction", "s3:GetObject"): "a directory that came back at the source has a HEAD",
}
BY_SERVICES = set().union(*CALLED_BY_SERVICES.values())


@pytest.fixture
def by_boto3() -> set[str]:
    """The functions that called a service by boto3."""
    return set()


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, by_boto3: set[str]) -> dict[str, set[Need]]:
    """The permissions that were needed, by function; ``running`` says which one is at work."""
    found: defaultdict[str, set[Need]] = defaultdict(set)
    begin = Transport.begin

    def recording(self: Transport, method: str, url: str, *others: Any, **named: Any) -> Any:
        if "authorization" in others[0]:  # what only asks whether S3 answers is not signed
            found[HandlerFlow.running].update(needs(method, url, *others[:2]))
            if urlsplit(url).path.startswith(f"/{WORK}/"):
                assert others[0]["x-amz-expected-bucket-owner"] == PARAMETERS["AWS::AccountId"]
        return begin(self, method, url, *others, **named)

    send = URLLib3Session.send

    def sending(self: URLLib3Session, request: AWSPreparedRequest) -> Any:
        if HandlerFlow.running and not is_s3_itself():
            found[HandlerFlow.running].update(
                needs(request.method, request.url, dict(request.headers), body_of(request))
            )
            by_boto3.add(HandlerFlow.running)
        return send(self, request)

    monkeypatch.setattr(Transport, "begin", recording)
    monkeypatch.setattr(URLLib3Session, "send", sending)
    return found


def body_of(request: AWSPreparedRequest) -> bytes:
    """What is sent to a service; those of the control plane send bytes or text."""
    body = request.body or b""
    assert isinstance(body, bytes | str)
    return body.encode() if isinstance(body, str) else body


def tree(root: Path) -> None:
    for number in range(4):
        (root / f"d{number}").mkdir(parents=True)
        (root / f"d{number}/f").write_bytes(b"x" * number)
    (root / "big").write_bytes(b"b" * 9_000_000)
    (root / "link").symlink_to("big")


@pytest.fixture
def flow(s3: Any, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HandlerFlow]:
    """Two mounts and two buckets with a tree in each source."""
    efs: Any = boto3.client("efs", endpoint_url=s3.meta.endpoint_url, region_name="us-east-1")
    file_system = efs.create_file_system(CreationToken="data", ThroughputMode="elastic")["FileSystemId"]
    kms: Any = boto3.client("kms", endpoint_url=s3.meta.endpoint_url, region_name="us-east-1")
    key = kms.create_key(KeySpec=KEY_SPEC, KeyUsage="SIGN_VERIFY")["KeyMetadata"]
    monkeypatch.setenv("FANOUT_CERTIFICATE_KEY", key["Arn"])
    monkeypatch.setenv("FANOUT_FILE_SYSTEMS", json.dumps({"data": file_system}))
    for bucket in (SOURCE, TARGET):
        s3.create_bucket(Bucket=bucket)
    for name in ("data", "archive"):
        (tmp_path / name).mkdir()
    tree(tmp_path / "data/in")
    for path in (tmp_path / "data/in").rglob("*"):
        if path.is_file() and not path.is_symlink():
            key = f"in/{path.relative_to(tmp_path / 'data/in')}"
            s3.put_object(Bucket=SOURCE, Key=key, Body=path.read_bytes(), Tagging="team=a")
    s3.put_object(Bucket=SOURCE, Key="lists/some.csv", Body=b"d1/f\nd2/f\n")
    monkeypatch.setenv("FANOUT_CHECKSUM_ROLE", ROLE)
    with map_server() as url, s3_control(over(s3, WORK), monkeypatch) as control:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3_CONTROL", control)
        mounts = {"data": tmp_path / "data", "archive": tmp_path / "archive"}
        yield HandlerFlow(invoke, s3, monkeypatch, mounts, bootstrap, url)


@pytest.fixture
def machine(s3: Any) -> str:
    """The state machine of the stack, as far as it can be started."""
    steps: Any = boto3.client("stepfunctions", endpoint_url=s3.meta.endpoint_url, region_name="us-east-1")
    role = "arn:aws:iam::123456789012:role/transfer"
    made = steps.create_state_machine(name="fanout-transfer", definition=json.dumps(WAITS), roleArn=role)
    found: str = made["stateMachineArn"]
    assert found == PARAMETERS["StateMachineArn"]
    return found


def test_every_role_allows_what_its_function_calls_and_nothing_else(
    recorded: dict[str, set[Need]],
    by_boto3: set[str],
    flow: HandlerFlow,
    s3: Any,
    machine: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every_run(flow, s3, machine, tmp_path)
    short_runs(flow, s3, tmp_path)
    large_runs(flow, s3, tmp_path, monkeypatch)
    names = ("PlanTransfer", "SummariseTransfer", "PaceCopy", "StartBatch", "ComputeChecksums", "ExamineTurns")
    once_a_run = {f"{name}Function" for name in (*names, "PlanProbe", "SummariseProbe")}
    assert by_boto3 == once_a_run, "and none of those that list, copy, verify, delete and finish"
    recorded.pop("", None)
    assert set(recorded) == set(functions())
    refused, needless = [], []
    for name in sorted(recorded):
        statements = statements_of(name, GIVEN)
        refused += [(name, need) for need in recorded[name] if not is_allowed(need, statements)]
        needless += list(unused(name, statements, recorded[name]))
    assert not refused, refused
    assert not needless, needless


ACCESS_POINT = "arn:aws:s3:us-east-1:123456789012:accesspoint/reports"


def test_an_access_point_is_read_where_its_arn_stands_beside_its_bucket() -> None:
    """A request to an alias is checked against the ARN of the access point, and against the bucket's too."""
    arns = {"ReadBucketArns": f"arn:aws:s3:::{SOURCE},{ACCESS_POINT}"}
    whole = Given(PARAMETERS | arns, CONDITIONS | {"LimitsReadObjects": False, "LimitsReadPrefixes": False})
    statements = statements_of("CopyShardFunction", whole)
    assert is_allowed(Need("s3:GetObject", f"{ACCESS_POINT}/object/in/f"), statements)
    assert is_allowed(Need("s3:ListBucket", ACCESS_POINT), statements)
    assert not is_allowed(Need("s3:PutObject", f"{ACCESS_POINT}/object/in/f"), statements)
    limited = Given(PARAMETERS | arns | {"ReadObjectArns": f"{ACCESS_POINT}/object/in/*"}, CONDITIONS)
    statements = statements_of("CopyShardFunction", limited)
    assert is_allowed(Need("s3:GetObject", f"{ACCESS_POINT}/object/in/f"), statements)
    assert not is_allowed(Need("s3:GetObject", f"{ACCESS_POINT}/object/out/f"), statements)


def test_a_role_can_name_the_owners_acl_and_no_other() -> None:
    for function in ("CopyShardFunction", "ListSegmentFunction", "PlanTransferFunction", "CheckMountFunction"):
        statements = statements_of(function, GIVEN)
        place = f"arn:aws:s3:::{TARGET}/out/f"
        acls = {"bucket-owner-full-control": True, "public-read": False, "bucket-owner-read": False}
        for acl, expected in acls.items():
            assert is_allowed(Need("s3:PutObjectAcl", place, {"s3:x-amz-acl": acl}), statements) is expected
        assert not is_allowed(Need("s3:PutObjectAcl", place), statements), "with grants of its own"


def unused(name: str, statements: list[Statement], found: set[Need]) -> Iterator[tuple[str, str, str]]:
    """The permissions of a role, statement by statement, that no recorded request needed."""
    for statement in (one for one in statements if one.effect == "Allow"):
        for action in statement.actions:
            called = any(need.action == action and statement.matches(need) for need in found)
            if action == "s3:ListBucket":
                # S3 tells a missing key from a forbidden one only to who may list its bucket.
                called = called or any(need.action == "s3:GetObject" and _in(need, statement) for need in found)
            if action not in BY_SERVICES and not called and (name, action) not in NOT_SEEN_HERE:
                yield name, statement.policy, action


def _in(need: Need, statement: Statement) -> bool:
    return need.resource.partition("/")[0] in statement.resources
