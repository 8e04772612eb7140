"""Forecasts the verification after a copy."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from fanout.efs.capacity import Load, merged
from fanout.efs.load import RequestCount, Work, lists_of, lists_of_directories, loads_of, loads_to_list
from fanout.efs.phase_cost import MAP_SECONDS, Basis, Overhead, PhaseCost, WorkDone
from fanout.facts import tuning
from fanout.forecast import between_regions
from fanout.forecast.way import BETWEEN_MOUNTS, ROUND, SEGMENT
from fanout.request.course import Mode
from fanout.request.options import Verify
from fanout.request.request import Request

# Requests to the work bucket, calls and states of a verification after the copy: in all, of whole trees besides, and of
# a shard (as ``forecast.way`` has those of a copy).
AROUND, WHOLE_TREES = Overhead(transitions=2), Overhead(gets=48, puts=12, calls=4, transitions=7)
SHARD = Overhead(gets=10, puts=7, calls=1, transitions=4)


def shard_of(request: Request) -> Overhead:
    """A shard of the verification; between two mounts each end is read by a function that sees it."""
    return SHARD + BETWEEN_MOUNTS[Mode.VERIFY].shard if request.between_mounts else SHARD


def verifying(request: Request, work: Work, basis: Basis) -> PhaseCost:
    """It takes as long as the copying, or more if it reads more; of whole trees it lists both ends again."""
    if request.course.compares:  # then the work of the run is the comparison
        services = between_regions.to_copy(request, work.bytes, 0, basis.regions, basis.price)
        return PhaseCost(seconds=MAP_SECONDS + basis.copy_seconds if work.shards else 0.0, services=services)
    whole = to_verify(request, work)
    alone = basis.rates.seconds(whole.entries, whole.bytes)
    again = basis.list_seconds if request.verifies_after.whole_trees else 0.0
    cost = verification(request, whole, basis.segments)
    seconds = MAP_SECONDS + max(basis.copy_seconds, alone / basis.functions) + again
    overhead = AROUND + shard_of(request) * work.shards + WHOLE_TREES * request.verifies_after.whole_trees
    services = between_regions.to_verify(request, whole.bytes, basis.regions, basis.price)
    busy = max(basis.function_seconds, alone)
    return replace(cost, seconds=seconds, function_seconds=busy, overhead=overhead, services=services)


def verified(request: Request, done: WorkDone, price: Mapping[str, float]) -> PhaseCost:
    """The addition of the verification after the copy, as far as it came."""
    if not done.tasks_after and not done.rounds:
        return PhaseCost()
    work = Work(done.listed, done.verified.entries, done.verified.bytes, done.tasks_after, 0.0, sizes=done.sizes)
    work = replace(work, directories=done.directories)
    overhead = AROUND + shard_of(request) * done.tasks_after
    if done.rounds:
        overhead += WHOLE_TREES + ROUND * (done.rounds - 1) + SEGMENT * (done.segments - 1)
    services = between_regions.to_verify(request, work.bytes, done.regions, price)
    return replace(verification(request, work, done.segments), overhead=overhead, services=services)


def verification(request: Request, work: Work, segments: int) -> PhaseCost:
    """The requests and the load of verifying so much."""
    return PhaseCost(loads=loads_to_verify(request, work), requests=requests_to_verify(request, work, segments))


def requests_to_verify(request: Request, work: Work, segments: int) -> RequestCount:
    """Requests of a verification after the copy: a HEAD for each entry at each end, as S3 keeps checksums.

    For a certificate every object is read too.
    """
    if request.verifies_after is Verify.NONE:
        return RequestCount()
    ends = sum(end.is_keyed for end in (request.source, request.destination))
    pages = lists_of(work, segments) if request.verifies_after.whole_trees else 0.0
    pages += lists_of_directories(work, work.entries)
    read = work.entries + work.bytes / tuning.BLOCK_BYTES if request.certificate else 0.0
    return RequestCount(gets=(work.entries + read) * ends, lists=pages * ends)


def to_verify(request: Request, work: Work) -> Work:
    """The work of a verification after the copy: what was copied, by an earlier run too, or all that was listed."""
    if not request.verifies_after.whole_trees:
        return replace(work, entries=work.entries + work.done.entries, bytes=work.bytes + work.done.bytes)
    return replace(work, entries=max(work.entries, work.listed), bytes=max(work.bytes, work.listed_bytes))


def loads_to_verify(request: Request, work: Work) -> Mapping[str, Load]:
    """The load of a verification after the copy on each mount, by name: it reads both ends again, or lists them too."""
    if request.verifies_after is Verify.NONE:
        return {}
    read = loads_of(replace(request, mode=Mode.VERIFY), work)
    listed = loads_to_list(request, replace(work, there=work.listed)) if request.verifies_after.whole_trees else {}
    return merged((read, listed))
