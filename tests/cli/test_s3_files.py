"""Init and doctor of a stack on S3 Files. Its answers are held against the service's own model by botocore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from fanout.model.errors import InvalidRequest
from fanout_cli.doctor.mount_checks import kinds
from fanout_cli.doctor.network_checks import mount_targets
from fanout_cli.setup.answers import Answers, parameters
from fanout_cli.setup.look_up import look_up
from fanout_cli.stacks import Stack

FILE_SYSTEM = "fs-0123456789abcdef0"
OF_S3_FILES = f"arn:aws:s3files:eu-west-1:111122223333:file-system/{FILE_SYSTEM}"
ACCESS_POINT = f"{OF_S3_FILES}/access-point/fsap-0123456789abcdef0"
OF_EFS = "arn:aws:elasticfilesystem:eu-west-1:111122223333:access-point/fsap-0123456789abcdef0"
POINT = {
    "accessPointArn": ACCESS_POINT,
    "accessPointId": "fsap-0123456789abcdef0",
    "clientToken": "t",
    "fileSystemId": FILE_SYSTEM,
    "status": "available",
    "ownerId": "111122223333",
    "posixUser": {"uid": 1000, "gid": 2000},
    "rootDirectory": {"path": "/projects"},
}
TARGET = {"mountTargetId": "fsmt-0123456789abcdef0", "ownerId": "111122223333", "subnetId": "subnet-0123456789abcdef1"}
Session = Callable[[str], Any]


def of(bucket: str) -> dict[str, Any]:
    return {"fileSystemId": FILE_SYSTEM, "bucket": f"arn:aws:s3:::{bucket}", "prefix": "p/", "status": "available"}


@pytest.fixture
def files() -> Any:
    """A client of S3 Files, and its answers."""
    keys = {"aws_access_key_id": "t", "aws_secret_access_key": "t"}
    made = boto3.client("s3files", region_name="eu-west-1", **keys)  # type: ignore[call-overload]
    with Stubber(made) as stubber:
        yield made, stubber
        stubber.assert_no_pending_responses()


def stack_of(files: Any, **more: str) -> Stack:
    given = {"ExistingAccessPointArn": ACCESS_POINT, "ExistingFileSystemType": "s3files", "MountName": "data"}
    outputs = {"WorkBucketName": "work", "FileSystemId": FILE_SYSTEM}
    return Stack("s", outputs, lambda service: {"s3files": files}[service], "--stack s", 0.0, given | more)


@pytest.mark.parametrize(
    ("bucket", "more", "level", "what"),
    [
        ("a-bucket", {}, "ok", "shows s3://a-bucket/p/projects/, which is no other end; all is read through"),
        (
            "a-bucket",
            {"ExistingDirectReadArns": "arn:aws:s3:::a-bucket/*"},
            "ok",
            "large files are read from arn",
        ),
        ("work", {}, "fail", "S3 Files, and it shows the stack's work bucket"),
    ],
)
def test_doctor_says_which_bucket_a_mount_shows(
    files: Any, bucket: str, more: dict[str, str], level: str, what: str
) -> None:
    client, stubber = files
    stubber.add_response("get_file_system", of(bucket), {"fileSystemId": OF_S3_FILES})
    stubber.add_response("get_access_point", POINT, {"accessPointId": ACCESS_POINT})
    (found,) = kinds(stack_of(client, **more))
    assert (found.level, found.name) == (level, "file system of efs://data/")
    assert what in found.what


def test_doctor_warns_where_the_service_does_not_tell(files: Any) -> None:
    client, stubber = files
    stubber.add_client_error("get_file_system", "AccessDeniedException")
    (found,) = kinds(stack_of(client))
    assert (found.level, found.remedy) == ("warn", "runs that delete there are refused")


@pytest.mark.parametrize(("arn", "said", "right"), [(ACCESS_POINT, "efs", "s3files"), (OF_EFS, "s3files", "efs")])
def test_doctor_finds_a_kind_that_the_access_point_is_not(files: Any, arn: str, said: str, right: str) -> None:
    (found,) = kinds(stack_of(files[0], ExistingAccessPointArn=arn, ExistingFileSystemType=said))
    assert (found.level, found.remedy) == ("fail", f"deploy with ExistingFileSystemType={right}")


def test_doctor_looks_at_the_mount_targets_of_s3_files(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client, stubber = files
    monkeypatch.setattr(
        "fanout_cli.doctor.network_checks.subnets_of",
        lambda _stack: ["subnet-0123456789abcdef1", "subnet-0123456789abcdef2"],
    )
    targets = {"mountTargets": [{**TARGET, "status": "available"}]}
    stubber.add_response("list_mount_targets", targets, {"fileSystemId": FILE_SYSTEM})
    there, missing = mount_targets(stack_of(client))
    assert (there.level, missing.level) == ("ok", "fail")
    assert missing.remedy == f"make one: aws s3files create-mount-target --file-system-id {FILE_SYSTEM}"


class Here:
    """A session with moto's network and the client of S3 Files."""

    def __init__(self, files: Any) -> None:
        self.files, self.ec2 = files, boto3.client("ec2", region_name="eu-west-1")
        vpc = self.ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
        self.functions, self.targets = (
            self.ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)["GroupId"] for name in "ft"
        )
        rule: Any = {"IpProtocol": "tcp", "FromPort": 2049, "ToPort": 2049}
        rule["UserIdGroupPairs"] = [{"GroupId": self.functions}]
        self.ec2.authorize_security_group_ingress(GroupId=self.targets, IpPermissions=[rule])

    def client(self, service: str) -> Any:
        return {"s3files": self.files, "ec2": self.ec2}[service]


@mock_aws
def test_init_looks_up_a_file_system_of_s3_files_by_the_arn_of_its_access_point(
    files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, stubber = files
    here = Here(client)
    stubber.add_response("get_access_point", POINT, {"accessPointId": ACCESS_POINT})
    stubber.add_response("list_mount_targets", {"mountTargets": [{**TARGET, "status": "available"}]})
    stubber.add_response("get_mount_target", {**TARGET, "securityGroups": [here.targets]})
    found = look_up(here, FILE_SYSTEM, ACCESS_POINT)
    assert (found.subnets, found.groups, found.user, found.group) == (
        ("subnet-0123456789abcdef1",),
        (here.functions,),
        1000,
        2000,
    )
    given = {one.name: one.value for one in parameters(Answers(read=("a",), existing=found))}
    assert given["ExistingFileSystemType"] == "s3files"
    assert given["ExistingAccessPointArn"] == ACCESS_POINT


@mock_aws
def test_init_names_what_a_file_system_of_s3_files_lacks(files: Any) -> None:
    client, stubber = files
    here = Here(client)
    stubber.add_response("get_access_point", POINT)
    with pytest.raises(InvalidRequest, match="and not of fs-another"):
        look_up(here, "fs-another", ACCESS_POINT)
    stubber.add_response("get_access_point", POINT)
    stubber.add_response("list_mount_targets", {"mountTargets": [{**TARGET, "status": "creating"}]})
    with pytest.raises(InvalidRequest, match="no mount target that is available"):
        look_up(here, FILE_SYSTEM, ACCESS_POINT)
