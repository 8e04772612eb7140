"""The start of the pacing of a run: the load on each measured file system, and the plan's own figures.

The forecast and the run both begin with it, so that they agree.
"""

from __future__ import annotations

from collections.abc import Mapping

from fanout.efs.capacity import FileSystemState
from fanout.efs.load import Work, loads_of
from fanout.efs.seconds import operations_of
from fanout.facts.aws import EFS_LEAST_METERED
from fanout.facts.operations import READ_OPERATIONS_PER_FILE
from fanout.pacing.rule import Observed, Pacing, PacingLimits, decide
from fanout.request.request import Request


def limits_of(request: Request, planned: int) -> PacingLimits:
    """The limits of the request, and the concurrency of the plan."""
    limits = request.limits
    return PacingLimits(limits.max_concurrency, planned, limits.credit_reserve_percent, limits.bytes_per_second)


def entry_bytes_of(request: Request) -> float:
    """The bytes that the operations of an entry count as, at the end that counts most."""
    operations = operations_of(request) if not request.destination.is_keyed else READ_OPERATIONS_PER_FILE
    return operations * EFS_LEAST_METERED


def limited_bytes(request: Request, work: Work) -> int:
    """Bytes that count against ``limits.bytes_per_second``: a comparison reads them at each end on a file system.

    S3 is taken to know its checksums; what it has to send for want of one counts too, and makes the run slower.
    """
    if not request.course.compares:
        return work.bytes
    return work.bytes * max(1, sum(not end.is_keyed for end in (request.source, request.destination)))


def seen_at_first(request: Request, work: Work, states: Mapping[str, FileSystemState]) -> list[Observed]:
    """The measured file systems that the work is done to; the plan has taken off for the age of what it read."""
    charged = limited_bytes(request, work) + work.entries * entry_bytes_of(request)
    return [
        Observed(
            mount,
            states[mount],
            load.metered_bytes,
            credits=states[mount].credits_bytes,
            rate_per_metered=charged / load.metered_bytes,
        )
        for mount, load in loads_of(request, work).items()
        if mount in states and load.metered_bytes
    ]


def paced_at_first(request: Request, seen: list[Observed], functions: int, now: float) -> Pacing:
    """The pacing that the copying starts with, of so many functions that the plan wants."""
    return decide(now, Pacing(functions, moved_at=now), seen, 0, limits_of(request, functions))
