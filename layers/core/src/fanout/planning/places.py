"""Refuses ends that are one place under two names, or lie in the work bucket, before anything is listed.

Ends are told apart by looking, and not by what they are called.

| ends                            | are one place, or overlap, if                             | who looks       |
|---------------------------------|-----------------------------------------------------------|-----------------|
| in one bucket or on one mount   | a path or prefix begins with the other                    | the parser      |
| in buckets of two names         | also, and an upload of one name is listed under the other | PlanTransfer    |
| on two mounts                   | the run's mark is seen at the source's root, or above     | CheckOtherMount |
| on two mounts                   | the listing of the source meets the run's mark            | ListSegment     |
| on two mounts                   | a directory of one is the root of the other, by its inode | who enters it   |
| in the work bucket by its name  | always                                                    | PlanTransfer    |
| in the work bucket, other name  | the run's own plan is found there                         | CheckMount      |

The marks are made where the run writes, so only runs that write are held to those rows.
"""

from __future__ import annotations

from fanout.ledger import keys
from fanout.model.errors import AccessDenied, InvalidRequest, NotFound
from fanout.model.location import Location
from fanout.request.options import Mode
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.request.same_place import overlapping, same_place
from fanout.work.context import Context

MARK = ".fanout-place-"
_WORK_PREFIXES = ("runs/", "staged/", "locks/", "probes/")
_ANOTHER_BUCKET = "name another bucket: this one holds what the runs of the stack write about themselves"


def refuse_work_bucket(request: Request, bucket: str) -> None:
    """Raise ``InvalidRequest`` for an end in the work bucket.

    A manifest there must be what a run left as its failures, or a batch of events.
    """
    for field, end in _ends(request):
        if end.is_keyed and end.bucket == bucket:
            raise InvalidRequest(field, f"{end} lies in the stack's work bucket", _ANOTHER_BUCKET)
    manifest = request.manifest
    if manifest is None or manifest.bucket != bucket or manifest.is_failures:
        return
    if not manifest.key.startswith(keys.run_prefix(keys.BATCHES)):
        problem = f"{manifest} lies in the stack's work bucket"
        raise InvalidRequest("manifest", problem, "only the failures.jsonl of a run is read there")


def refuse_work_bucket_by_another_name(plan: Plan, context: Context) -> None:
    """Raise ``InvalidRequest`` for an end from which the run's own plan is seen."""
    key = context.ledger.prefix + keys.PLAN
    for field, end in _ends(plan.request):
        if not end.is_keyed or not any(_nest(end.place, prefix) for prefix in _WORK_PREFIXES):
            continue
        try:
            context.objects(plan.request).find(end.bucket, key)
        except (NotFound, AccessDenied):  # another bucket, or the run's role reaches nothing of the ledger by this name
            continue
        raise InvalidRequest(field, f"{end} leads to the stack's work bucket", _ANOTHER_BUCKET)


def refuse_same_bucket(plan: Plan, context: Context) -> None:
    """Raise ``InvalidRequest`` for ends in one bucket under two names, of which one is, or holds, the other."""
    source, destination = plan.request.source, plan.request.destination
    if not plan.request.mode.writes or plan.request.mode is Mode.ROLLBACK or not plan.request.inside_s3:
        return
    if source.bucket == destination.bucket or not _nest(source.place, destination.place):
        return
    place = max(source.place, destination.place, key=len)
    if context.is_one_bucket(plan, f"{place}{MARK}{plan.run_id}"):
        raise overlapping(plan.request, f"{destination.bucket} and {source.bucket} are names of one bucket")


def refuse_same_directory(plan: Plan, context: Context) -> None:
    """Mark the destination, where this function sees it, and look for the mark from the source, where it sees that.

    Raises ``InvalidRequest`` for two mounts that show one directory.
    """
    request = plan.request
    if not (request.mode.writes and request.between_mounts) or request.mode is Mode.ROLLBACK:
        return
    destination, source = context.destination(plan).file_system, context.source(plan).file_system
    if destination is not None:
        destination.mark()
    seen = source.marked() if source is not None else None
    if seen is not None:
        raise same_place(request, "destination", seen)


def _ends(request: Request) -> tuple[tuple[str, Location], ...]:
    if request.mode is Mode.ROLLBACK:
        return ()
    return ("source", request.source), ("destination", request.destination)


def _nest(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
