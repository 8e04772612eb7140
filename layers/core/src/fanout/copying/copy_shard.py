"""CopyShard: copies the entries of a shard that have no outcome yet, until they are done or the time is up."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from fanout.copying.copier import Copier, never_same
from fanout.copying.copy_blocks import copy_blocks
from fanout.copying.forked_copier import CopiesEntries, ForkedCopier, processes_for
from fanout.copying.linking import VersionBefore, linked_from, version_before
from fanout.copying.same_content import SameContent
from fanout.copying.source_directories import close_by_source
from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import Throttled
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.ports.limiter import Limiter
from fanout.ports.tree import ReadTree, WriteTree
from fanout.request.options import Compare
from fanout.request.plan import Plan
from fanout.shards.tasks.attempts import TaskProgress, note_throttling, noted
from fanout.shards.tasks.forecast_threads import threads_of
from fanout.shards.tasks.outcome_writer import OutcomeWriter, out_of_time_outcome, settled_indexes
from fanout.shards.tasks.settle_done import settle_done
from fanout.shards.tasks.shard_task import ShardTask
from fanout.work.context import Context
from fanout.work.facts import Facts, asked
from fanout.work.rates.shared_limiter import SharedLimiter


def copy_shard(shard: Shard, context: Context) -> Json:
    """Copy what the ledger does not show as done; returns ``cursor`` (outcomes so far) and ``done``.

    Raises ``Transient`` if nothing at all could be copied for reasons that may pass.
    """
    work = copy_blocks if shard.blocks is not None else settle_done if shard.done else _copy_entries
    return noted("copy", shard, context, lambda: work(shard, context))


class _CopyFacts(Facts):
    """The facts of a shard of entries, all of them known before the first is copied."""

    def __init__(self, shard: Shard, context: Context) -> None:
        super().__init__()
        self._shard, self._context, self._ledger = shard, context, context.ledger

    @asked
    def is_sent(self) -> None:
        """Sends what waits: nothing is copied before the ledger says what is to be."""
        self._ledger.settle()

    @asked
    def is_held_back(self) -> bool:
        """Asks for the limits: no operation begins before it knows them."""
        return self._context.limiter.holds()

    @asked
    def plan(self) -> Plan:
        """The plan."""
        return self._ledger.read_plan()

    @asked
    def entries(self) -> list[Entry]:
        """The entries of the shard."""
        return self._ledger.read_shard(self._shard)

    @asked
    def settled(self) -> set[int]:
        """The entries that have an outcome."""
        return settled_indexes(self._shard, self._ledger)

    @asked
    def threads(self) -> int:
        """The threads that the forecast gives a function."""
        return threads_of(self._ledger)


def _copy_entries(shard: Shard, context: Context) -> TaskProgress:
    ledger = context.ledger
    with _CopyFacts(shard, context) as facts:
        facts.ahead()
    _ = facts.is_held_back, facts.is_sent
    plan, threads = facts.plan, facts.threads
    task = ShardTask("copy", "copied", shard, context, plan)
    work = task.left(enumerate(facts.entries), facts.settled)
    deadline = task.deadline
    source, destination = context.source(plan), context.destination(plan)
    on_mounts, within = context.ends.forks(plan), context.ends.copier(plan)
    crew, processors = context.stack.crew, context.stack.processors
    most = 1 if crew is None or within else tuning.COPY_PROCESSES if on_mounts else processors
    processes = processes_for(len(work), threads, most)
    linked = _Linked(version_before(ledger), ledger, [entry for _, entry in work]) if shard.linked else None
    making = partial(
        _copier,
        plan,
        source,
        destination,
        deadline,
        linked,
        within=within,
        buffer_bytes=tuning.BUFFER_BYTES // processes,
        block_bytes=tuning.BLOCK_BYTES_ON_MOUNTS if on_mounts else None,
        now=context.clock.now,
    )
    if processes == 1 or crew is None:
        writer = copy_work(work, making(limiter=task.limiter), task, threads)
    else:
        with closing(SharedLimiter(task.limiter, processes)) as shared:
            writer = copy_work(work, ForkedCopier(crew, making, processes, shared), task, threads)
    return task.progress(writer.written, writer.copied, writer.failures)


class _Linked(NamedTuple):
    """The version that entries are linked from, its ledger, and the entries."""

    before: VersionBefore
    ledger: Ledger
    entries: list[Entry]


def _copier(
    plan: Plan,
    source: ReadTree,
    destination: WriteTree,
    deadline: Deadline,
    linked: _Linked | None,
    *,
    limiter: Limiter,
    **more: Any,
) -> Copier:
    """The copier of a plan, in this process or another one, to which the arguments are handed over."""
    same: Callable[[Entry], str | None] = never_same
    if plan.request.compare is Compare.CHECKSUM:
        same = SameContent(source, destination, deadline, limiter, inside_s3=plan.request.inside_s3).or_copy
    if linked is not None:
        same = linked_from(plan, linked.before, destination, linked.ledger, linked.entries)
    request = plan.request
    copier = Copier(
        source,
        destination,
        deadline,
        symlinks=request.symlinks,
        same=same,
        limiter=limiter,
        left_out=request.left_out,
        **more,
    )
    copier.above = close_by_source(source, destination, plan, copier.directories.append)
    return copier


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
