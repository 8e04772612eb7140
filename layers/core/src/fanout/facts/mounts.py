"""The abilities of each kind of file system that a mount may be: the one table that says so.

A mount is Amazon EFS unless its access point is one of S3 Files. On both a rename is at once for whoever uses the
mount, and for a directory too. In the bucket of S3 Files it is a copy and a deletion for each object, later.

| of the kind          | read by                                                                                   |
|----------------------|-------------------------------------------------------------------------------------------|
| ``has_hard_links``   | the plan, which refuses publishing and backups without them; which names are files         |
| ``key_bytes``        | the naming of entries: a longer path would never reach the bucket                          |
| ``own_names``        | the naming of entries, and what a sync deletes: the service keeps these at the root        |
| ``puts_a_file``      | the forecast: requests by which a file that is written reaches the bucket                  |
| ``files_per_second`` | the note of the plan: what the service writes to the bucket                                |
| ``export_seconds``   | the same: for how long a file must not be written before it is                             |
| ``mode``             | the plan: the throughput mode of EFS whose figures are taken, where nothing can be measured |
"""

from __future__ import annotations

from typing import NamedTuple

from fanout.facts import aws

# A Linux NFS client believes attributes, names and symlinks that it saw for so long: acregmax and acdirmax of nfs(5),
# which the options that AWS mounts with leave as they are.
CACHED_SECONDS = 60.0


class MountKind(NamedTuple):
    """A kind of file system; see the table of the module. ``None`` where there is no such limit."""

    name: str
    has_hard_links: bool = True
    key_bytes: int | None = None
    own_names: str = ""
    puts_a_file: int = 0
    files_per_second: int | None = None
    export_seconds: int = 0
    mode: str = ""


EFS = MountKind("Amazon EFS")
# AmazonS3/latest/userguide/s3-files-quotas.html and s3-files-synchronization.html, read in November 2026. Who owns a
# file and its mode are kept as metadata of the object; a file that changed there loses metadata of its own.
S3_FILES = MountKind(
    "S3 Files",
    has_hard_links=False,
    key_bytes=aws.KEY_BYTES,
    own_names=".s3files-lost+found-",
    puts_a_file=1,
    files_per_second=800,
    export_seconds=60,
    mode="elastic",
)
# By the service in the ARN of an access point.
OF_SERVICE = {"elasticfilesystem": EFS, "s3files": S3_FILES}


def kind_of_access_point(arn: str) -> MountKind:
    """The kind by the ARN of an access point; EFS for a file system that the stack makes, which has none to name."""
    parts = arn.split(":")
    return OF_SERVICE.get(parts[2], EFS) if len(parts) > 2 else EFS
