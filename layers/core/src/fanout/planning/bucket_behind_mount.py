"""Refuses a run that deletes between ends that may be one bucket: S3 Files shows a bucket as a file system.

Such a mount has no hard links. A file system without them may show a bucket; nothing at the bucket tells which one.

| source                | destination           | a run that deletes                                               |
|-----------------------|-----------------------|------------------------------------------------------------------|
| a bucket              | may show a bucket     | refused, unless S3 Files said which one it shows                 |
| may show a bucket     | a bucket              | the same                                                         |
| may show a bucket     | may show a bucket     | the same; a mark tells directories of one mount or file system   |
| any other             | any other             | goes on                                                          |

| the mounted end is                | asked                                           |
|-----------------------------------|-------------------------------------------------|
| of S3 Files, by its access point  | by the plan                                     |
| any other where the run stages    | by a hard link, tried there                     |

Where the service says what a mount shows, PlanTransfer has compared the places: see ``behind_mounts``. The name of an
access point tells no bucket.
"""

from __future__ import annotations

from fanout.efs.measure import are_one_file_system
from fanout.facts.mounts import S3_FILES
from fanout.model.errors import InvalidRequest
from fanout.model.location import ACCESS_POINT_ALIAS, Location
from fanout.ports.file_system import FileSystem
from fanout.request.plan import Plan
from fanout.work.context import Context
from fanout.work.roots import DESTINATION_ROOT, SOURCE_ROOT

_REMEDY = "name the bucket as both ends' place instead, or copy without deleting"


def find_bucket_behind_mount(plan: Plan, context: Context) -> bool:
    """Whether the mounted end that is seen here may show a bucket, of a run that deletes and has two stores.

    Raises ``InvalidRequest`` where the other end is a bucket, or was found to be able to show one, and ``Transient``.
    """
    request = plan.request
    source, destination = request.source, request.destination
    if not request.course.deletes or source.store == destination.store:
        return False
    for field, other, files in (
        ("source", "destination", context.source_files(plan)),
        ("destination", "source", context.destination_files(plan)),
    ):
        end: Location = getattr(request, field)
        if files is None or not _may_show_a_bucket(end, files, plan):
            continue
        if _is_bucket_too(other, plan, context) and not all(_is_told(one, plan) for one in (source, destination)):
            problem = (
                f"a {request.mode.value} from {source} to {destination} deletes, and {end} has no hard links, as "
                "S3 Files: it may show the bucket itself"
            )
            raise InvalidRequest(field, problem, _REMEDY)
        return True
    return False


def _is_told(end: Location, plan: Plan) -> bool:
    return not end.bucket.endswith(ACCESS_POINT_ALIAS) and plan.shown_by(end) is not None


def _may_show_a_bucket(end: Location, files: FileSystem, plan: Plan) -> bool:
    if plan.kind_of(end) is S3_FILES:
        return True
    return end in plan.request.written_ends and not files.has_hard_links()


def _is_bucket_too(other: str, plan: Plan, context: Context) -> bool:
    """Whether the other end is a bucket, or its function found before that it may show one."""
    end: Location = getattr(plan.request, other)
    if end.is_keyed:
        return True
    key = SOURCE_ROOT if other == "source" else DESTINATION_ROOT
    root = context.ledger.find(key)
    return root is not None and root.may_show_a_bucket and not are_one_file_system(plan, context.ledger)
