"""Which pairs that times call unchanged a run must prove by looking at objects, and what a look costs.

A LIST shows no owner's mtime of an object. Where no index of an earlier run vouches for a pair, one HEAD goes to each
end that is a bucket:

| from, to    | HEADs of a pair |
|-------------|-----------------|
| mount, S3   | 1               |
| S3, mount   | 1 at most       |
| S3, S3      | 2               |
| mount, mount | none           |
"""

from __future__ import annotations

from enum import Enum

from fanout.request.options import Compare
from fanout.request.request import Request


class Ends(Enum):
    """Which ends are buckets."""

    MOUNT_TO_S3 = "mount to S3"
    S3_TO_MOUNT = "S3 to mount"
    S3_TO_S3 = "S3 to S3"


def ends_of(request: Request) -> Ends | None:
    """The ends of a request that reaches a bucket; ``None`` between mounts."""
    if request.source.is_keyed:
        return Ends.S3_TO_S3 if request.inside_s3 else Ends.S3_TO_MOUNT
    return Ends.MOUNT_TO_S3 if request.destination.is_keyed else None


def ends_to_prove(request: Request) -> Ends | None:
    """The ends of a request that compares the times of files with a bucket; ``None`` if no proof is needed."""
    if request.compare is not Compare.SIZE_MTIME or request.course.compares:
        return None
    return ends_of(request)


def directories_to_prove(request: Request) -> Ends | None:
    """The same for directories, whose times count under ``compare: checksum`` too; a mount's need no proof."""
    if request.compare is Compare.ALWAYS or request.course.compares or not request.destination.is_keyed:
        return None
    return ends_of(request)


def heads_of_look(ends: Ends | None) -> int:
    """The HEADs of one look at a pair, by the module's table."""
    if ends is None:
        return 0
    return 2 if ends is Ends.S3_TO_S3 else 1
