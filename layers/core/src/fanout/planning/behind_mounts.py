"""Asks what is behind the mounts of a request, and refuses by name, before anything is listed, what they lack.

S3 Files shows a bucket as a file system. The service tells which one; a run whose ends are one place there is refused,
as is one that needs what the kind of file system lacks (``facts.mounts``).

| a run                      | on a mount of S3 Files                                                                |
|----------------------------|---------------------------------------------------------------------------------------|
| whose ends are one place   | refused in every mode: what is written at one end appears at the other, a minute late |
| with the alias of a bucket | goes on with a note if it deletes nothing: an alias does not tell its bucket          |
| in the stack's work bucket | refused                                                                               |
| that publishes             | refused: versions share their files by hard links                                     |
| with ``backup_to``         | refused: what goes is kept by a hard link                                             |
| with the service's names    | leaves them out: lost and found, at the root of the file system                       |
| of files with more names   | copies each name as a file of its own, and says so                                    |
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fanout.efs.measure import asked
from fanout.facts.mounts import S3_FILES, kind_of_access_point
from fanout.model.errors import FanoutError, InvalidRequest
from fanout.model.file_system import Behind
from fanout.model.location import ACCESS_POINT_ALIAS, nest
from fanout.request.asked import OWN_NAMES, without_own_names
from fanout.request.one_place import overlapping
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.work.context import Context

_ANOTHER_MOUNT = "name a mount of another file system: this one shows what the runs of the stack write about themselves"
_USE_VERSIONS = "leave it out: S3 Files needs a bucket with versions, which keep what is replaced or deleted"
_NAMES_NO_BUCKET = (
    "which tells no bucket: if the mount shows that one, the ends are one place, and equal whatever they hold; "
    "name the bucket, as a run that deletes has to"
)
_NO_BACKUP = "leave it out, or name a destination on EFS"
_USE_EFS = "publish on EFS; or copy to a prefix for each version"


def find_behind(request: Request, context: Context, notes: list[str]) -> dict[str, Behind]:
    """The places that mounts of the request show that are of a kind with a bucket behind it, by mount.

    Where the service, or the name of a bucket, does not tell, a note says what follows.
    """
    found: dict[str, Behind] = {}
    ends = (request.source, request.destination)
    for mount in sorted({end.mount for end in ends if not end.is_keyed}):
        access_point = context.stack.facts.access_points.get(mount, "")
        if kind_of_access_point(access_point).key_bytes is None:
            continue
        try:
            found[mount] = asked(partial(context.stack.meter.shows, access_point), context)
        except FanoutError as error:
            found[mount] = Behind()
            why = f"S3 Files did not tell which bucket efs://{mount}/ shows ({type(error).__name__}: {error})"
            notes.append(f"{why}; a run that deletes between it and any bucket is refused")
    aliases = [end for end in ends if found and end.bucket.endswith(ACCESS_POINT_ALIAS)]
    notes += [f"{end} is an alias, {_NAMES_NO_BUCKET}" for end in aliases]
    return found


def leave_own_names_out(request: Request, behind: Mapping[str, Behind], notes: list[str]) -> Request:
    """The request that leaves out what the service keeps at the root of such a mount, at either end."""
    if not behind:
        return request
    notes.append(f"{OWN_NAMES} is kept by S3 Files itself, and left out")
    if request.course.copies and request.destination.mount in behind:
        notes.append(
            f"S3 Files writes a file to the bucket {S3_FILES.export_seconds} seconds after the last write to it, and "
            f"at most {S3_FILES.files_per_second} a second: the bucket shows the copies later than the mount"
        )
    return without_own_names(request, behind)


def refuse_behind(plan: Plan, work_bucket: str) -> None:
    """Raise ``InvalidRequest`` for what cannot be had on the mounts of the plan; see the table of the module."""
    _refuse_one_place(plan, work_bucket)
    kind = plan.kind_of(plan.request.destination)
    if kind is None or kind.has_hard_links:
        return
    for field, is_asked, does, remedy in (
        ("publish", plan.request.publish is not None, "versions share their files", _USE_EFS),
        ("backup_to", plan.request.backup_to is not None, "what is replaced or deleted is kept", _USE_VERSIONS),
    ):
        if is_asked:
            problem = f"{plan.request.destination} is of {kind.name}, which has no hard links, by which {does}"
            raise InvalidRequest(field, problem, remedy)


def hold_to_kind(plan: Plan, context: Context) -> tuple[str, ...]:
    """Try whether the destination has the hard links of its kind, where that matters; returns a note where it has more.

    Raises ``InvalidRequest`` for a backup where it has none.
    """
    request = plan.request
    kind = plan.kind_of(request.destination)
    files = None if kind is None else context.destination_files(plan)
    if kind is None or files is None or not request.course.writes:
        return ()
    if (kind.has_hard_links and request.backup_to is None) or files.has_hard_links() == kind.has_hard_links:
        return ()
    if kind.has_hard_links:
        problem = f"{request.destination} has no hard links, by which what is replaced or deleted is kept"
        raise InvalidRequest("backup_to", problem, _NO_BACKUP)
    found = f"{request.destination} has hard links, which {kind.name} has not"
    return (f"{found}: compare the stack's access point with the mount",)


def _refuse_one_place(plan: Plan, work_bucket: str) -> None:
    request = plan.request
    ends = {"source": request.source, "destination": request.destination}
    mounted = {field: end for field, end in ends.items() if not end.is_keyed and end.mount in plan.behind}
    for field, end in mounted.items():
        if plan.behind[end.mount].bucket == work_bucket:
            raise InvalidRequest(field, f"{end} shows the stack's work bucket", _ANOTHER_MOUNT)
    shown = [plan.shown_by(end) for end in ends.values()]
    if not mounted or request.course.goes_back or request.source.store == request.destination.store or None in shown:
        return
    (bucket, one), (other_bucket, other) = (place for place in shown if place is not None)
    if bucket == other_bucket and nest(one, other):
        seen = next(iter(mounted.values()))
        place = plan.shown_by(seen)
        assert place is not None
        raise overlapping(request, f"{seen} shows s3://{place[0]}/{place[1]}")
