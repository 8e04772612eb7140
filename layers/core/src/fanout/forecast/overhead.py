"""Costs outside the copy: PaceCopy, limit polling by the functions, and deletion.

The counts follow pacing/pace_copy.py and rates/throttle.py. Reading a Map from Step Functions, or a state from EFS, is
free.
"""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import astuple

from fanout.efs.load import Work
from fanout.efs.measurement import METRICS
from fanout.forecast.deleting import Deleting
from fanout.pacing.rule import DECIDE_SECONDS, END_LATER_SECONDS, END_SECONDS
from fanout.rates.run_limits import IDLE_LOOK_SECONDS, LOOK_SECONDS, NOTE_SECONDS
from fanout.request.options import ReportEntries
from fanout.request.request import Request
from fanout.shards.entry_report import ROWS_PER_FILE

# As templates set them: memory of PaceCopy, and of a function that deletes; and the time that PaceCopy works.
PACE_GB, DELETE_GB = 0.256, 1.769
PACE_TASK_SECONDS = 840.0
# Requests of a decision: reads of both rates; lists of two minutes' throttling and writes of rate and row, which cost
# the same.
DECISION_GETS, DECISION_PUTS = 2, 4
# Requests of a poll by a function: reads of both rates; if there is a rate, lists of two minutes' notes of the others.
LOOK_GETS, LOOK_LISTS = 2, 2
# Requests of a shard of deletions: reads of its rows, writes of attempt, outcomes and checkpoint; states of its child.
DELETE_PUTS, DELETE_GETS, DELETE_TRANSITIONS = 4, 3, 3
# EndPacing and the states around it, and those around the deletions.
PACE_TRANSITIONS, AROUND_DELETING = 4, 6


class Beside(Struct, frozen=True):
    """Requests to the work bucket, metrics, GB-seconds and calls of functions, transitions, and requests to KMS."""

    gets: float = 0.0
    puts: float = 0.0
    metrics: float = 0.0
    gb_seconds: float = 0.0
    calls: float = 0.0
    transitions: float = 0.0
    signatures: float = 0.0

    def __add__(self, other: Beside) -> Beside:
        return Beside(*map(sum, zip(astuple(self), astuple(other), strict=True)))


def measuring(mounts: int) -> Beside:
    """The plan asks for the metrics of each measured file system once."""
    return Beside(metrics=float(len(METRICS) * mounts))


def pacing(seconds: float, mounts: int) -> Beside:
    """PaceCopy beside a Map of so many seconds, with so many measured file systems."""
    tasks = math.ceil(seconds / PACE_TASK_SECONDS)
    soon = min(seconds, tasks * DECIDE_SECONDS)
    looks = soon / END_SECONDS + (seconds - soon) / END_LATER_SECONDS
    decisions = math.floor(seconds / DECIDE_SECONDS)
    return Beside(
        gets=looks + DECISION_GETS * decisions,
        puts=DECISION_PUTS * decisions + 1.0,
        metrics=float(len(METRICS) * mounts * decisions),
        gb_seconds=seconds * PACE_GB,
        calls=tasks + 1.0,
        transitions=PACE_TRANSITIONS + 2.0 * tasks,
    )


def looking(function_seconds: float, *, is_limited: bool) -> Beside:
    """The looks of functions that work so long in all; one that holds a rate looks at the others too."""
    if not is_limited:
        return Beside(gets=LOOK_GETS * function_seconds / IDLE_LOOK_SECONDS)
    looks = function_seconds / LOOK_SECONDS
    return Beside(gets=LOOK_GETS * looks, puts=LOOK_LISTS * looks + function_seconds / NOTE_SECONDS)


def reporting(request: Request, work: Work) -> Beside:
    """The files of ``report_entries``: one a shard, and one for so many listed entries that are not copied."""
    if request.report_entries is not ReportEntries.ALL:
        return Beside()
    return Beside(puts=work.shards + math.ceil((work.listed - work.entries) / ROWS_PER_FILE))


def certifying(request: Request, work: Work) -> Beside:
    """The certificate: its key and its signature are a request to KMS each, its sums two files a shard.

    Each task that proves reads the run's secret, which PlanTransfer writes.
    """
    if not request.certificate:
        return Beside()
    return Beside(gets=2.0 * work.shards + 2.0, puts=2.0 * work.shards + 2.0, signatures=2.0)


def deleting(found: Deleting) -> Beside:
    """The functions that delete extras, and their ledger; deletions themselves cost nothing at S3."""
    if not found.shards:
        return Beside()
    return Beside(
        gets=float(DELETE_GETS * found.shards),
        puts=float(DELETE_PUTS * found.shards),
        gb_seconds=found.function_seconds * DELETE_GB,
        calls=float(found.shards),
        transitions=float(AROUND_DELETING + DELETE_TRANSITIONS * found.shards),
    )


def is_paced(request: Request, work: Work) -> bool:
    """Whether PaceCopy runs: beside a Map of copies, of more than one shard."""
    return work.shards > 1 and not request.course.compares


def beside_run(
    request: Request, work: Work, copying: float, busy: float, removal: Deleting, mounts: int, *, held: bool
) -> Beside:
    """All costs outside a copy of so many seconds, whose functions work ``busy`` seconds together.

    ``mounts`` are those that were measured; ``held`` where a rate is kept for the sake of credits.
    """
    is_limited = held or bool(request.limits.bytes_per_second or request.limits.files_per_second)
    found = measuring(mounts) + looking(busy, is_limited=is_limited) + deleting(removal)
    found += reporting(request, work) + certifying(request, work)
    return found + pacing(copying, mounts) if is_paced(request, work) else found
