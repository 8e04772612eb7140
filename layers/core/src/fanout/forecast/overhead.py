"""Costs outside the copy: PaceCopy, limit polling by the functions, reported entries, the certificate.

The counts follow pacing/pace_copy.py and rates/throttle.py. Reading a Map from Step Functions, or a state from EFS, is
free.
"""

from __future__ import annotations

import math

from fanout.efs.load import Work
from fanout.efs.phase_cost import Overhead
from fanout.model.file_system import METRICS
from fanout.pacing.rule import DECIDE_SECONDS, END_LATER_SECONDS, END_SECONDS
from fanout.request.options import ReportEntries
from fanout.request.request import Request
from fanout.shards.entry_report import ROWS_PER_FILE
from fanout.work.rates.run_limits import IDLE_LOOK_SECONDS, LOOK_SECONDS, NOTE_SECONDS

# As templates set them: memory of PaceCopy, and the time that it works.
PACE_GB = 0.256
PACE_TASK_SECONDS = 840.0
# Requests of a decision: reads of both rates; lists of two minutes' throttling and writes of rate and row, which cost
# the same.
DECISION_GETS, DECISION_PUTS = 2, 4
# Requests of a poll by a function: reads of both rates; if there is a rate, lists of two minutes' notes of the others.
LOOK_GETS, LOOK_LISTS = 2, 2
# EndPacing; a task of PaceCopy takes two states.
PACE_TRANSITIONS = 1


def pacing(seconds: float, mounts: int) -> Overhead:
    """PaceCopy during a Map of so many seconds, with so many measured file systems."""
    tasks = math.ceil(seconds / PACE_TASK_SECONDS)
    soon = min(seconds, tasks * DECIDE_SECONDS)
    looks = soon / END_SECONDS + (seconds - soon) / END_LATER_SECONDS
    decisions = math.floor(seconds / DECIDE_SECONDS)
    return Overhead(
        gets=looks + DECISION_GETS * decisions,
        puts=DECISION_PUTS * decisions + 1.0,
        metrics=float(len(METRICS) * mounts * decisions),
        gb_seconds=seconds * PACE_GB,
        calls=tasks + 1.0,
        transitions=PACE_TRANSITIONS + 2.0 * tasks,
    )


def looking(function_seconds: float, *, is_limited: bool) -> Overhead:
    """The looks of functions that work so long in all; one that holds a rate looks at the others too."""
    if not is_limited:
        return Overhead(gets=LOOK_GETS * function_seconds / IDLE_LOOK_SECONDS)
    looks = function_seconds / LOOK_SECONDS
    return Overhead(gets=LOOK_GETS * looks, puts=LOOK_LISTS * looks + function_seconds / NOTE_SECONDS)


def reporting(request: Request, work: Work) -> Overhead:
    """The files of ``report_entries``: one a shard, and one for so many listed entries that are not copied."""
    if request.report_entries is not ReportEntries.ALL:
        return Overhead()
    return Overhead(puts=work.shards + math.ceil((work.listed - work.entries) / ROWS_PER_FILE))


def certifying(request: Request, work: Work) -> Overhead:
    """The certificate: its key and its signature are a request to KMS each, its sums two files a shard.

    Each task that proves reads the run's secret, which PlanTransfer writes.
    """
    if not request.certificate:
        return Overhead()
    return Overhead(gets=2.0 * work.shards + 2.0, puts=2.0 * work.shards + 2.0, signatures=2.0)


def is_paced(request: Request, work: Work) -> bool:
    """Whether PaceCopy runs: during a Map of copies, of more than one shard."""
    return work.shards > 1 and not request.course.compares


def overhead_of_run(
    request: Request, work: Work, copying: float, busy: float, mounts: int, *, held: bool, short: bool
) -> Overhead:
    """All costs outside a copy of so many seconds, whose functions work ``busy`` seconds together.

    ``mounts`` are those that were measured; ``held`` where a rate is kept for the sake of credits, ``short`` where one
    function carries the run, which nothing paces.
    """
    is_limited = held or bool(request.limits.bytes_per_second or request.limits.files_per_second)
    found = Overhead(metrics=float(len(METRICS) * mounts))  # which the plan asks for once
    found += looking(busy, is_limited=is_limited) + reporting(request, work) + certifying(request, work)
    return found + pacing(copying, mounts) if is_paced(request, work) and not short else found
