"""Refuses ends that are one place under two names, or lie in the work bucket, before anything is listed.

Whether two ends are one place is found by looking, not by their names.

| ends                            | are one place, or overlap, if                             | who looks       |
|---------------------------------|-----------------------------------------------------------|-----------------|
| in one bucket or on one mount   | a path or prefix begins with the other                    | the parser      |
| in buckets of two names         | also, and an upload of one name is listed under the other | PlanTransfer    |
| on two mounts                   | the run's mark is seen at the source's root, or above     | CheckOtherMount |
| on two mounts                   | the listing of the source meets the run's mark            | ListSegment     |
| on one mount, or on two         | a directory of one is the root of the other, by its inode | who enters it   |
| in the work bucket by its name  | always                                                    | PlanTransfer    |
| in the work bucket, other name  | the run's own plan is listed there                        | CheckMount      |

A mount of S3 Files shows a bucket, and no mark tells which: what is written to the mount reaches the bucket a minute
later at the earliest. So a run that deletes is refused where each end is a bucket or may show one: see
``bucket_behind_mount``.

The marks are made where the run writes. A run that only reads marks nothing at a mount: the inodes of both roots are
compared instead. In buckets of two names it asks as much as it may:

| the first entries under both names | mode   | then                                                                |
|------------------------------------|--------|---------------------------------------------------------------------|
| differ in name, ETag or time       | any    | two places                                                          |
| are the same, or there are none    | verify | the mark tells; where it may not be made, an access point is refused |
| are the same, or there are none    | plan   | a note: a plan makes no mark, and a copy would                      |
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from fanout.ledger import keys, run_places
from fanout.model.errors import AccessDenied, InvalidRequest
from fanout.model.location import ACCESS_POINT_ALIAS, nest
from fanout.model.segment import Segment
from fanout.ports.tree import ReadTree
from fanout.request.manifest import ManifestLocation
from fanout.request.one_place import overlapping, same_place
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.work.context import Context

MARK = ".fanout-place-"
_ANOTHER_BUCKET = "name another bucket: this one holds what the runs of the stack write about themselves"
_FAILURES_ALONE = "only the failures.jsonl of a run is read there"
_NAME_THE_BUCKET = "name the bucket behind the access point at both ends, or allow the upload that distinguishes them"
_PLAN_DOES_NOT_TELL = "a copy would first tell by an upload whether they are one place, which a plan does not begin"
# Chosen: a page of a listing holds as many; two trees that agree in all of them may be one.
_ENTRIES_COMPARED = 1_000
_LET_IT_BE_LISTED = "let the function's role list it: this tells the bucket from the stack's work bucket"


def refuse_work_bucket(request: Request, bucket: str) -> None:
    """Raise ``InvalidRequest`` for an end in the work bucket.

    A manifest there must be what a run left as its failures, or a batch of events.
    """
    for field, place, is_read_there, remedy in _in_buckets(request):
        if place.bucket == bucket and not is_read_there:
            raise InvalidRequest(field, f"{place} lies in the stack's work bucket", remedy)


def refuse_work_bucket_by_another_name(plan: Plan, context: Context) -> None:
    """Raise ``InvalidRequest`` for an end, or a manifest, in a bucket in which the run's own plan is seen.

    It is looked for where what the request names could be the stack's. Raises ``AccessDenied`` where the bucket does
    not tell.
    """
    key = context.ledger.prefix + keys.PLAN
    for field, place, is_read_there, remedy in _in_buckets(plan.request):
        if is_read_there or not any(nest(place.key, prefix) for prefix in run_places.OURS):
            continue  # nothing else of the stack lies there, whichever bucket it is
        try:
            is_work_bucket = context.ends.objects(plan).lists(place.bucket, key)
        except AccessDenied as error:
            raise AccessDenied("ListObjectsV2", f"s3://{place.bucket}/{key}", _LET_IT_BE_LISTED) from error
        if is_work_bucket:
            raise InvalidRequest(field, f"{place} leads to the stack's work bucket", remedy)


def _in_buckets(request: Request) -> Iterator[tuple[str, ManifestLocation, bool, str]]:
    """Places in buckets that a request names: field, place, whether it may lie in the work bucket, a remedy."""
    if not request.course.goes_back:
        for field, end in (("source", request.source), ("destination", request.destination)):
            if end.is_keyed:
                yield field, ManifestLocation(end.bucket, end.place), False, _ANOTHER_BUCKET
    manifest = request.manifest
    if manifest is not None:
        is_batch = manifest.key.startswith(run_places.run_prefix(run_places.BATCHES))
        yield "manifest", manifest, is_batch or keys.is_failures(manifest.key), _FAILURES_ALONE


def refuse_same_bucket(plan: Plan, context: Context) -> list[str]:
    """Raise ``InvalidRequest`` for ends in one bucket under two names, of which one is, or holds, the other.

    Returns a note where a plan cannot tell. Raises ``AccessDenied`` where a bucket does not tell, and one of the names
    is that of an access point.
    """
    request = plan.request
    source, destination = request.source, request.destination
    if request.course.goes_back or not request.inside_s3:
        return []
    if source.bucket == destination.bucket or not nest(source.place, destination.place):
        return []
    if not request.course.writes and not _look_alike(plan, context):
        return []
    if request.course.plans:
        return [f"{source} and {destination} show the same entries: {_PLAN_DOES_NOT_TELL}"]
    place = max(source.place, destination.place, key=len)
    try:
        is_one = context.ends.is_one_bucket(plan, f"{place}{MARK}{plan.run_id}")
    except AccessDenied as error:
        if request.course.writes:
            raise
        if not any(end.bucket.endswith(ACCESS_POINT_ALIAS) for end in (source, destination)):
            return []  # S3 gives no other second name to a bucket
        raise AccessDenied("CreateMultipartUpload", str(destination), _NAME_THE_BUCKET) from error
    if is_one:
        raise overlapping(request, f"{destination.bucket} and {source.bucket} are names of one bucket")
    return []


def _look_alike(plan: Plan, context: Context) -> bool:
    """Whether the first entries that both ends should share, were they one bucket, are the same objects."""
    place = max(plan.request.source.place, plan.request.destination.place, key=len)
    ends = ((context.source(plan), plan.request.source), (context.destination(plan), plan.request.destination))
    first, second = (_first_entries(tree, place.removeprefix(end.place)) for tree, end in ends)
    return first == second


def _first_entries(tree: ReadTree, below: str) -> list[tuple[str, str, int]]:
    found = islice(tree.list(Segment("", below)), _ENTRIES_COMPARED)
    return [(entry.path.removeprefix(below), entry.etag, entry.changed_ns) for entry in found if entry.path != below]


def mark_destination(plan: Plan, context: Context) -> None:
    """Of two mounts, mark the destination, where this function sees it. Last, as trying the mount clears the mark."""
    destination = context.destination_files(plan) if _is_marked(plan.request) else None
    if destination is not None:
        destination.mark()


def refuse_same_directory(plan: Plan, context: Context) -> None:
    """Raise ``InvalidRequest`` where the source, if this function sees it, shows the destination's mark.

    First, so that a refused run fences nobody at the source.
    """
    source = context.source_files(plan) if _is_marked(plan.request) else None
    seen = source.marked() if source is not None else None
    if seen is not None:
        raise same_place(plan.request, "destination", seen)


def _is_marked(request: Request) -> bool:
    return request.between_mounts and request.course.copies
