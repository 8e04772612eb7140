"""Forecasts the deletion of a sync's extras, or of what a move deletes at the source.

Before a function deletes an extra, it looks for its name at the source. It checks a file again at the destination.
With ``backup_to`` it links the file first, which is one more WRITE. A move does the same with the ends changed about,
but for the backup: it looks for the copy.

| destination   | one function has in flight                        | an extra takes                         |
|---------------|---------------------------------------------------|----------------------------------------|
| a file system | 64 extras                                         | the look, and READ + WRITE latency     |
| a bucket      | 64 batches of 1,000, 20 of which are a whole shard | the look, and a thousandth of a request |
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import Load
from fanout.efs.load import RequestCount, Work, lists_of_directories
from fanout.efs.phase_cost import MAP_SECONDS, STATE_SECONDS, Basis, Overhead, PhaseCost, WorkDone
from fanout.facts import aws, tuning
from fanout.forecast.way import Overheads
from fanout.model.location import Location
from fanout.request.request import Request

# docs.aws.amazon.com/efs/latest/ug/performance.html: best-case read latency.
EFS_LOOK_SECONDS = 0.001
# Assumed: a HEAD, and a DeleteObjects of 1,000 keys.
S3_LOOK_SECONDS = 0.02
DELETE_OBJECTS_SECONDS = 0.5


# Of the deletion of extras, and of what was proven: who deletes reads what each shard proved.
DELETING = {
    False: Overheads(
        Overhead(gets=36, puts=8, calls=2, transitions=7), Overhead(gets=5, puts=4, calls=1, transitions=4)
    ),
    True: Overheads(
        Overhead(gets=41, puts=10, calls=2, transitions=7), Overhead(gets=9, puts=5, calls=1, transitions=4)
    ),
}
# More of what was proven, where it goes from a mount, and where its copy lies on one.
PROVEN_FROM_MOUNT, PROVEN_ON_MOUNT = (
    Overheads(Overhead(gets=29), Overhead(gets=5)),
    Overheads(Overhead(gets=15), Overhead(gets=1)),
)


class Deleting(Struct, frozen=True):
    """Seconds of the Map, its shards, seconds of all its functions together, and looks at the source in S3."""

    seconds: float = 0.0
    shards: int = 0
    function_seconds: float = 0.0
    looks: int = 0


def deleting(request: Request, work: Work, basis: Basis) -> PhaseCost:
    """The deletion of a sync or a move."""
    end = end_deleted_from(request)
    writes = basis.states[end.mount].quota.write_iops if not end.is_keyed else inf
    found = deleting_of(request, work.extras, writes)
    seconds = 2 * STATE_SECONDS + MAP_SECONDS + found.seconds if found.shards else None
    return replace(deletion(request, work.extras, found, lists_of_directories(work, work.extras)), seconds=seconds)


def deleted(request: Request, done: WorkDone, _price: Mapping[str, float]) -> PhaseCost:
    """The addition of the deletions that were done."""
    listed = Work(done.listed, 0, 0, 0, 0.0, directories=done.directories)
    directories = lists_of_directories(listed, done.deleted)
    return deletion(request, done.deleted, deleting_of(request, done.deleted, inf), directories)


def deletion(request: Request, extras: int, found: Deleting, directories: float = 0.0) -> PhaseCost:
    """The requests and the load of deleting so many, and the functions that do; S3 takes nothing for deletions.

    So many ``directories`` are among them.
    """
    if not found.shards:
        return PhaseCost()
    proven = request.course.deletes_proven
    steps = [DELETING[proven]]
    steps += [PROVEN_FROM_MOUNT] * (proven and not request.source.is_keyed)
    steps += [PROVEN_ON_MOUNT] * (proven and not request.destination.is_keyed)
    overhead = sum((one.run + one.shard * found.shards for one in steps), Overhead())
    overhead += Overhead(gb_seconds=found.function_seconds * request.function.gigabytes)
    loads = deletion_loads(request, extras)
    tasks = found.shards if request.course.deletes_proven else found.shards + 1  # one sees to the directories
    lists = float(tasks * sum(end.is_keyed for end in (request.source, request.destination)))
    lists += directories * _end_looked_at(request).is_keyed
    return PhaseCost(loads=loads, requests=RequestCount(float(found.looks), lists=lists), overhead=overhead)


def end_deleted_from(request: Request) -> Location:
    return request.source if request.course.deletes_proven else request.destination


def _end_looked_at(request: Request) -> Location:
    """The end at which the run looks before it deletes."""
    return request.destination if request.course.deletes_proven else request.source


def deleting_of(request: Request, extras: int, write_iops: float) -> Deleting:
    """The Map that deletes so many extras, with shards as the listing of the destination makes them.

    ``write_iops`` is what the file system that it deletes from does at most, if it is one.
    """
    if not extras:
        return Deleting()
    shards = math.ceil(extras / tuning.SHARD_ENTRIES)
    most = request.limits.max_concurrency
    of_one = _shard_seconds(request, extras / shards)
    seconds = max(math.ceil(shards / most) * of_one, _least_seconds(request, extras, write_iops))
    looked_at = [_end_looked_at(request), *[end_deleted_from(request)] * request.course.deletes_proven]
    looks = extras * sum(end.is_keyed for end in looked_at)
    return Deleting(seconds, shards, max(shards * of_one, min(shards, most) * seconds), looks)


def deletion_loads(request: Request, extras: int) -> dict[str, Load]:
    """The load of the deletion by mount: a look-up at each mounted end, and the removal, at the least metered size."""
    least = aws.EFS_LEAST_METERED * float(extras)
    loads: dict[str, Load] = {}
    for end, is_written in ((_end_looked_at(request), False), (end_deleted_from(request), True)):
        if not end.is_keyed and extras:
            writes = is_written * _writes(request)
            load = Load(float(extras), least, extras * writes, least * writes)
            loads[end.mount] = loads.get(end.mount, Load()) + load
    return loads


def _writes(request: Request) -> float:
    """The operations that change a mount to delete one entry: of a sync, what is kept is linked first."""
    return 1.0 if request.backup_to is None or request.course.deletes_proven else 2.0


def _shard_seconds(request: Request, extras: float) -> float:
    look = EFS_LOOK_SECONDS if not _end_looked_at(request).is_keyed else S3_LOOK_SECONDS
    in_flight = tuning.CLIENT_OPERATIONS_IN_FLIGHT
    if not end_deleted_from(request).is_keyed:
        writes = _writes(request) * aws.EFS_WRITE_SECONDS
        return extras * (look + EFS_LOOK_SECONDS + writes) / min(in_flight, max(1.0, extras))
    batch = min(extras, aws.DELETE_OBJECTS)
    return math.ceil(math.ceil(extras / batch) / in_flight) * (batch * look + DELETE_OBJECTS_SECONDS)


def _least_seconds(request: Request, extras: int, write_iops: float) -> float:
    """The least seconds of the services: look-ups, deletions (S3 counts each key), one EFS operation a removal."""
    on_mount = not end_deleted_from(request).is_keyed
    looks = 0.0 if not _end_looked_at(request).is_keyed else extras / aws.S3_GET_PER_SECOND
    return max(looks, extras / (write_iops if on_mount else aws.S3_PUT_PER_SECOND))
