"""CopyShard: copies the entries of a shard that have no outcome yet, until they are done or the time is up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from fanout.copying.copier import Copier, never_same
from fanout.copying.copy_blocks import copy_blocks
from fanout.copying.forked_copier import CopiesEntries, ForkedCopier, processes_for
from fanout.copying.linking import linked_from, version_before
from fanout.copying.same_content import SameContent
from fanout.facts import tuning
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import Throttled
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.ports.limiter import Limiter
from fanout.request.options import Compare
from fanout.shards.tasks.attempts import TaskProgress, note_throttling, noted
from fanout.shards.tasks.forecast_threads import threads_of
from fanout.shards.tasks.outcome_writer import OutcomeWriter, out_of_time_outcome, settled_indexes
from fanout.shards.tasks.shard_task import ShardTask
from fanout.work.context import Context
from fanout.work.rates.shared_limiter import SharedLimiter


def copy_shard(shard: Shard, context: Context) -> Json:
    """Copy what the ledger does not show as done; returns ``cursor`` (outcomes so far) and ``done``.

    Raises ``Transient`` if nothing at all could be copied for reasons that may pass.
    """
    work = copy_blocks if shard.blocks is not None else _copy_entries
    return noted("copy", shard, context, lambda: work(shard, context))


def _copy_entries(shard: Shard, context: Context) -> TaskProgress:
    ledger = context.ledger
    with ThreadPoolExecutor(6) as pool:  # which ends here: a fork would inherit locks of its threads
        telling = pool.submit(ledger.settle)  # nothing is copied before the ledger tells what is to be
        planned, reading = pool.submit(ledger.read_plan), pool.submit(ledger.read_shard, shard)
        settling, pacing = pool.submit(settled_indexes, shard, ledger), pool.submit(threads_of, ledger)
        looking = pool.submit(context.limiter.holds)  # asks for the limits: no operation begins before it knows them
    looking.result()
    telling.result()
    plan, threads = planned.result(), pacing.result()
    task = ShardTask("copy", "copied", shard, context, plan)
    work = task.left(enumerate(reading.result()), settling.result())
    deadline = task.deadline
    source, destination = context.source(plan), context.destination(plan)
    crc64nvme(b"", NO_BYTES)  # loads what computes it once, for all processes
    on_mounts, within = context.forks(plan), context.entry_copier(plan)
    most = tuning.COPY_PROCESSES if on_mounts else 1 if within else context.processors
    if threading.active_count() > 1:  # a fork would inherit their locks, held for ever
        most = 1
    processes = processes_for(len(work), threads, most)

    def copier(limiter: Limiter) -> Copier:
        same: Callable[[Entry], str | None] = never_same
        if plan.request.compare is Compare.CHECKSUM:
            inside_s3 = plan.request.inside_s3
            same = SameContent(source, destination, deadline, limiter, inside_s3=inside_s3).or_copy
        if shard.linked:
            same = linked_from(plan, version_before(ledger), destination, ledger, [entry for _, entry in work])
        return Copier(
            source,
            destination,
            deadline,
            symlinks=plan.request.symlinks,
            within=within,
            same=same,
            buffer_bytes=tuning.BUFFER_BYTES // processes,
            block_bytes=tuning.BLOCK_BYTES_ON_MOUNTS if on_mounts else None,
            limiter=limiter,
            left_out=plan.request.left_out,
            now=context.clock.now,
        )

    if processes == 1:
        writer = copy_work(work, copier(task.limiter), task, threads)
    else:
        with closing(SharedLimiter(task.limiter, processes)) as shared:
            writer = copy_work(work, ForkedCopier(copier(shared), processes, shared.serve), task, threads)
    return task.progress(writer.written, writer.copied, writer.failures)


def copy_work(work: list[tuple[int, Entry]], copier: CopiesEntries, task: ShardTask, threads: int) -> OutcomeWriter:
    """Copy these entries of a shard, at most ``threads`` at once; returns what wrote the outcomes.

    Raises ``Transient`` if nothing at all could be copied for reasons that may pass.
    """
    writer = OutcomeWriter(task.shard, task.context, task.notes(), task.plan, copier.take_made)
    passing: dict[int, Outcome] = {}
    for index, outcome in copier.copy_all(work, min(threads, len(work)) or 1):
        if outcome.reason is Reason.TRANSIENT:
            passing[index] = outcome
        else:
            writer.add(index, outcome, copier.directories)
    writer.flush(copier.directories)
    if any(outcome.message.startswith(Throttled.__name__) for outcome in passing.values()):
        note_throttling(task.context)
    late = [] if writer.written else task.too_late(len(work) - copier.left_out, passing, copier.unfinished)
    for index, outcome in (*passing.items(), *((index, out_of_time_outcome(entry)) for index, entry in late)):
        writer.add(index, outcome, copier.directories)
    writer.flush(copier.directories)
    return writer
