"""Looks up what a stack needs to know of a file system that is there, of EFS or of S3 Files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fanout.facts.mounts import S3_FILES, kind_of_access_point
from fanout.model.errors import InvalidRequest
from fanout_cli.setup.answers import ExistingFileSystem

_NFS = 2049


def look_up(session: Any, file_system: str, access_point: str = "", group: str = "") -> ExistingFileSystem:
    """The access point, and the subnets and the security group of the functions. One of S3 Files is named by its ARN.

    Raises ``InvalidRequest`` where what is there does not determine it.
    """
    if kind_of_access_point(access_point) is S3_FILES:
        return _of_s3_files(session, file_system, access_point, group)
    efs = session.client("efs")
    point = _access_point(efs, file_system, access_point)
    there = efs.describe_mount_targets(FileSystemId=file_system)["MountTargets"]
    targets = [one for one in there if one["LifeCycleState"] == "available"]
    groups = {
        group
        for one in targets
        for group in efs.describe_mount_target_security_groups(MountTargetId=one["MountTargetId"])["SecurityGroups"]
    }
    user = point.get("PosixUser") or {"Uid": 0, "Gid": 0}
    return ExistingFileSystem(
        file_system,
        point["AccessPointArn"],
        _subnets("efs", file_system, [one["SubnetId"] for one in targets]),
        _let_in(session.client("ec2"), groups, file_system, group),
        user["Uid"],
        user["Gid"],
    )


def _of_s3_files(session: Any, file_system: str, access_point: str, group: str) -> ExistingFileSystem:
    files = session.client("s3files")
    point = files.get_access_point(accessPointId=access_point)
    if point["fileSystemId"] != file_system:
        problem = f"{access_point} is of {point['fileSystemId']}, and not of {file_system}"
        raise InvalidRequest("--access-point", problem, "name one of that file system")
    pages = files.get_paginator("list_mount_targets").paginate(fileSystemId=file_system)
    targets = [one for page in pages for one in page["mountTargets"] if one.get("status") == "available"]
    subnets = _subnets("s3files", file_system, [one["subnetId"] for one in targets])
    groups = {
        group
        for one in targets
        for group in files.get_mount_target(mountTargetId=one["mountTargetId"]).get("securityGroups", [])
    }
    user = point.get("posixUser") or {"uid": 0, "gid": 0}
    let_in = _let_in(session.client("ec2"), groups, file_system, group)
    return ExistingFileSystem(file_system, access_point, subnets, let_in, user["uid"], user["gid"], "s3files")


def _subnets(service: str, file_system: str, found: list[str]) -> tuple[str, ...]:
    if not found:
        remedy = f"make one in each zone that functions are to use: aws {service} create-mount-target"
        raise InvalidRequest("--file-system", f"{file_system} has no mount target that is available", remedy)
    return tuple(sorted(found))


def _access_point(efs: Any, file_system: str, wanted: str) -> dict[str, Any]:
    pages = efs.get_paginator("describe_access_points").paginate(FileSystemId=file_system)
    points: list[dict[str, Any]] = [one for page in pages for one in page["AccessPoints"]]
    if wanted:
        points = [one for one in points if wanted in (one["AccessPointId"], one["AccessPointArn"])]
    if len(points) == 1:
        return points[0]
    known = ", ".join(one["AccessPointId"] for one in points)
    if not points:
        what = f"{file_system} has no access point" + (f" {wanted}" if wanted else "")
        raise InvalidRequest("--access-point", what, "make one: docs/start/deploy-existing.md")
    raise InvalidRequest("--access-point", f"{file_system} has {len(points)}", f"name one of {known}")


def _let_in(ec2: Any, groups: Iterable[str], file_system: str, wanted: str) -> tuple[str, ...]:
    """The security group that the mount targets' groups let in at NFS's port.

    Functions join one alone: others are those of strangers, with rights in other systems, and Lambda takes five.
    """
    found: set[str] = set()
    for group in ec2.describe_security_groups(GroupIds=sorted(groups))["SecurityGroups"]:
        for rule in group["IpPermissions"]:
            if rule["IpProtocol"] == "-1" or rule.get("FromPort", 0) <= _NFS <= rule.get("ToPort", -1):
                found |= {pair["GroupId"] for pair in rule.get("UserIdGroupPairs", [])}
    named = ", ".join(sorted(found))
    if wanted and wanted not in found:
        remedy = f"name one of {named}" if found else "let it in at port 2049 of the mount targets' groups"
        raise InvalidRequest("--security-group", f"the mount targets of {file_system} do not let {wanted} in", remedy)
    if not found:
        remedy = "let a group in at port 2049 of the mount targets' groups, then try again"
        raise InvalidRequest("--file-system", f"the mount targets of {file_system} let no security group in", remedy)
    if not wanted and len(found) > 1:
        problem = f"the mount targets of {file_system} let {len(found)} in"
        raise InvalidRequest("--security-group", problem, f"name the one that is for the functions: {named}")
    return (wanted,) if wanted else tuple(found)
