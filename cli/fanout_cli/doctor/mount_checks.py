"""Checks of the kinds of the stack's file systems: what the parameters say, and what is behind one of S3 Files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fanout.adapters.aws.meter import behind
from fanout.facts.mounts import EFS, S3_FILES, kind_of_access_point
from fanout.model.errors import FanoutError
from fanout.ports.finding import Finding, fail, ok, warn
from fanout_cli.stacks import Stack


class _MountParameters(NamedTuple):
    """The parameters of a mount."""

    access_point: str
    type: str
    mount: str
    direct: str


_MOUNTS = (
    _MountParameters("ExistingAccessPointArn", "ExistingFileSystemType", "MountName", "ExistingDirectReadArns"),
    _MountParameters("SecondAccessPointArn", "SecondFileSystemType", "SecondMountName", "SecondDirectReadArns"),
)
_TYPE_OF = {EFS: "efs", S3_FILES: "s3files"}


def kinds(stack: Stack) -> Iterator[Finding]:
    """Which kind each existing file system is, and which bucket one of S3 Files shows."""
    for names in _MOUNTS:
        access_point = stack.parameters.get(names.access_point, "")
        if access_point:
            yield _kind(stack, names, access_point)


def _kind(stack: Stack, names: _MountParameters, access_point: str) -> Finding:
    kind, said = kind_of_access_point(access_point), stack.parameters.get(names.type, "efs")
    title = f"file system of efs://{stack.parameters.get(names.mount, '')}/"
    if said != _TYPE_OF[kind]:
        what = f"the access point is of {kind.name}, and {names.type} says {said}: no function can mount it"
        return fail(title, what, f"deploy with {names.type}={_TYPE_OF[kind]}")
    if kind is EFS:
        return ok(title, kind.name)
    try:
        place = behind(stack.client("s3files"), access_point)
    except FanoutError as error:
        return warn(title, f"{kind.name}; it did not tell its bucket: {error}", "runs that delete there are refused")
    if place.bucket == stack.work_bucket:
        return fail(title, f"{kind.name}, and it shows the stack's work bucket", "mount one of another bucket")
    direct = stack.parameters.get(names.direct, "")
    reads = f"large files are read from {direct}" if direct else "all is read through the file system"
    return ok(title, f"{kind.name}, shows s3://{place.bucket}/{place.prefix}, which is no other end; {reads}")
