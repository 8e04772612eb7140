"""Where a tree lies: ``s3://bucket/prefix/`` or ``efs://mount/path``."""

from __future__ import annotations

import re

from msgspec import Struct

from fanout.model.errors import InvalidRequest, did_you_mean, meant
from fanout.model.path_rules import check_file_path, reason_against_file_path

ALLOWED = "allowed is s3://bucket/prefix/ or efs:///path or efs://MOUNT/path"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")

# Ends the alias of an access point, by which a bucket has a second name.
ACCESS_POINT_ALIAS = "-s3alias"
# docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html: suffixes that no general purpose bucket has.
# The alias of an access point is not among them: it is valid wherever the name of its bucket is.
_NOT_SUPPORTED = {
    ".mrap": ("a Multi-Region Access Point, which wants signatures for many regions", "the bucket behind it"),
    "--x-s3": ("a directory bucket, which lists its keys in no order", "a general purpose bucket"),
    "--xa-s3": ("an access point of a directory bucket, which lists its keys in no order", "a general purpose bucket"),
    "--ol-s3": ("an Object Lambda Access Point, whose objects are not as they are listed", "the bucket behind it"),
    "--op-s3": ("an access point on Outposts, which has an address of its own", "a bucket of the region"),
    "--table-s3": ("a table bucket, which holds no tree of keys", "a general purpose bucket"),
}


class S3Location(Struct, frozen=True, tag_field="scheme", tag="s3"):
    """The keys below a prefix, which is empty or ends in ``/``. Raises ``ValueError`` for anything else."""

    bucket: str
    prefix: str

    def __post_init__(self) -> None:
        if not _BUCKET.fullmatch(self.bucket) or (self.prefix and not self.prefix.endswith("/")):
            raise ValueError(f"{str(self)[:200]!r} is no bucket with a prefix that ends in /")

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def is_keyed(self) -> bool:
        """Whether the tree is made of keys of objects, and not of files and directories."""
        return True

    @property
    def mount(self) -> str:
        """The name of the mount; empty for a bucket."""
        return ""

    @property
    def place(self) -> str:
        """The path or prefix in its store; empty, or with ``/`` at its end."""
        return self.prefix

    @property
    def store(self) -> str:
        """The bucket or the mount, under a name that no other store has."""
        return f"s3/{self.bucket}"


class MountLocation(Struct, frozen=True, tag_field="scheme", tag="efs"):
    """A directory below a mount; ``path`` is relative, empty for the mount's own root. See ``S3Location``.

    Raises ``ValueError`` for a path that does not stay below the mount.
    """

    mount: str
    path: str

    def __post_init__(self) -> None:
        check_file_path(self.place)

    def __str__(self) -> str:
        return f"efs://{self.mount}/{self.path}"

    @property
    def is_keyed(self) -> bool:
        return False

    @property
    def bucket(self) -> str:
        """The name of the bucket; empty for a mount."""
        return ""

    @property
    def place(self) -> str:
        return f"{self.path}/" if self.path else ""

    @property
    def store(self) -> str:
        return f"mounts/{self.mount}"


Location = S3Location | MountLocation


def what_is_missing(location: Location) -> str:
    """The text for a tree that holds nothing."""
    return "0 objects below this prefix" if location.is_keyed else "0 entries below this path"


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
        close = meant(mount, mounts)
        question = did_you_mean(f"efs://{close}/{path}" if close else "" if path else f"efs:///{mount}")
        raise InvalidRequest(field, f"unknown mount {mount!r}", f"{question}known are {', '.join(mounts)}")
    path = path.strip("/")
    reason = reason_against_file_path(path) if path else None
    if reason is not None:
        raise InvalidRequest(field, f"{text!r}: {reason.value}", "name a directory below the mount's root")
    return MountLocation(mount, path)


def _parse_s3(field: str, text: str, bucket: str, prefix: str) -> S3Location:
    _check_bucket(field, text, bucket)
    if prefix and not prefix.endswith("/"):
        tree = text.rstrip() if text.rstrip().endswith("/") else f"{text}/"
        raise InvalidRequest(field, f"{text!r} has a prefix that does not end in /", f"write {tree} for the tree")
    return S3Location(bucket, prefix)


def _check_bucket(field: str, text: str, bucket: str) -> None:
    if bucket.startswith("arn:"):
        problem = f"{text!r} is the ARN of an access point, which is no location"
        raise InvalidRequest(
            field, problem, "name its alias (...-s3alias) or the bucket behind it, as s3://NAME/PREFIX/"
        )
    for suffix, (what, remedy) in _NOT_SUPPORTED.items():
        if bucket.endswith(suffix):
            raise InvalidRequest(field, f"{bucket!r} is {what}; it is not supported", f"name {remedy}")
    if not _BUCKET.fullmatch(bucket):
        raise InvalidRequest(field, f"{bucket!r} is not a bucket name", "3 to 63 of a-z, 0-9, . and -")


def parse_bucket_key(field: str, text: str, allowed: str) -> tuple[str, str]:
    """Bucket and key of the ``s3://bucket/key`` of one object. Raises ``InvalidRequest`` that names the field."""
    scheme, separator, rest = text.partition("://")
    bucket, _, key = rest.partition("/")
    if scheme != "s3" or not separator or not key:
        raise InvalidRequest(field, f"{text!r} is not the location of an object", f"allowed is {allowed}")
    _check_bucket(field, text, bucket)
    return bucket, key


def overlap(source: Location, destination: Location) -> bool:
    """Whether one tree is the other or lies inside it."""
    return source.store == destination.store and nest(source.place, destination.place)


def nest(one: str, other: str) -> bool:
    """Whether two places of one store share an entry."""
    return one.startswith(other) or other.startswith(one)
