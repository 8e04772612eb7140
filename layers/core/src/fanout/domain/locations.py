"""Where a tree lies: ``s3://bucket/prefix/`` or ``efs://mount/path``."""

from __future__ import annotations

import re

from msgspec import Struct

from fanout.domain.errors import InvalidRequest
from fanout.domain.names import reason_against_file_path

ALLOWED = "allowed is s3://bucket/prefix/ or efs:///path or efs://MOUNT/path"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")

# docs.aws.amazon.com/AmazonS3/latest/userguide/MultiRegionAccessPointRequests.html
_MULTI_REGION = ".mrap"
# docs.aws.amazon.com/AmazonS3/latest/userguide/directory-bucket-naming-rules.html
_DIRECTORY_BUCKET = "--x-s3"


class S3Location(Struct, frozen=True):
    """The keys below a prefix, which is empty or ends in ``/``."""

    bucket: str
    prefix: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"


class MountLocation(Struct, frozen=True):
    """A directory below a mount; ``path`` is relative, empty for the mount's own root."""

    mount: str
    path: str

    def __str__(self) -> str:
        return f"efs://{self.mount}/{self.path}"


Location = S3Location | MountLocation


def parse_location(field: str, text: str, mounts: tuple[str, ...]) -> Location:
    """The location that the request names; ``mounts`` are the known ones, the first is the default.

    Raises ``InvalidRequest`` that names the field.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in ("s3", "efs"):
        raise InvalidRequest(field, f"{text!r} is not a location", ALLOWED)
    authority, _, path = rest.partition("/")
    if scheme == "s3":
        return _parse_s3(field, text, authority, path)
    if not mounts:
        raise InvalidRequest(field, "this stack has no mount", "deploy it with a file system")
    mount = authority or mounts[0]
    if mount not in mounts:
        raise InvalidRequest(field, f"unknown mount {mount!r}", f"known are {', '.join(mounts)}")
    path = path.strip("/")
    reason = reason_against_file_path(path) if path else None
    if reason is not None:
        raise InvalidRequest(field, f"{text!r} has a {reason.value}", "name a directory below the mount's root")
    return MountLocation(mount, path)


def _parse_s3(field: str, text: str, bucket: str, prefix: str) -> S3Location:
    if bucket.startswith("arn:") or bucket.endswith(_MULTI_REGION):
        problem = f"{text!r} is an access point, for which the stack's roles have no permission"
        raise InvalidRequest(field, problem, "name the bucket behind it, as s3://BUCKET/PREFIX/")
    if not _BUCKET.fullmatch(bucket):
        raise InvalidRequest(field, f"{bucket!r} is not a bucket name", "3 to 63 of a-z, 0-9, . and -")
    if bucket.endswith(_DIRECTORY_BUCKET):
        problem = f"{bucket!r} is a directory bucket, which lists its keys in no order and has other requests"
        raise InvalidRequest(field, problem, "name a general purpose bucket")
    if prefix and not prefix.endswith("/"):
        raise InvalidRequest(field, f"{text!r} has a prefix that does not end in /", f"write {text}/ for the tree")
    return S3Location(bucket, prefix)


def parse_bucket_key(field: str, text: str, allowed: str) -> tuple[str, str]:
    """Bucket and key of the ``s3://bucket/key`` of one object. Raises ``InvalidRequest`` that names the field."""
    scheme, separator, rest = text.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not separator or not key or not _BUCKET.fullmatch(bucket):
        raise InvalidRequest(field, f"{text!r} is not the location of an object", f"allowed is {allowed}")
    return bucket, key


def overlap(source: Location, destination: Location) -> bool:
    """Whether one tree is the other or lies inside it."""
    if isinstance(source, S3Location) and isinstance(destination, S3Location):
        first, second = source.prefix, destination.prefix
        return source.bucket == destination.bucket and (first.startswith(second) or second.startswith(first))
    if isinstance(source, MountLocation) and isinstance(destination, MountLocation):
        first, second = _as_prefix(source.path), _as_prefix(destination.path)
        return source.mount == destination.mount and (first.startswith(second) or second.startswith(first))
    return False


def _as_prefix(path: str) -> str:
    return f"{path}/" if path else ""
