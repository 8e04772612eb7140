"""Reads what S3 Files says of an access point. Its client is given: a boto3 that is older than the service has none."""

from __future__ import annotations

from typing import Any

from fanout.adapters.aws.control_plane import our_errors
from fanout.model.errors import Unreachable
from fanout.model.file_system import Behind


def file_system_of(access_point: str) -> str:
    """The ARN of the file system of an access point, by its own."""
    return access_point.partition("/access-point/")[0]


def behind(files: Any, access_point: str) -> Behind:
    """The place in S3 that an access point shows. Needs s3files:GetFileSystem and s3files:GetAccessPoint."""
    file_system = file_system_of(access_point)
    with our_errors("s3files:GetFileSystem", file_system, lost=Unreachable):
        found = files.get_file_system(fileSystemId=file_system)
        bucket = found["bucket"].rpartition(":::")[2]
    with our_errors("s3files:GetAccessPoint", access_point, lost=Unreachable):
        root = files.get_access_point(accessPointId=access_point).get("rootDirectory", {}).get("path", "/")
        below = root.strip("/")
        return Behind(bucket, found.get("prefix", "") + (f"{below}/" if below else ""))
