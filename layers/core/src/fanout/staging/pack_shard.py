"""PackShard: stages the entries of a shard that are neither staged nor settled, where the source is mounted."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fanout.copying.copier import Copier, never_same
from fanout.copying.copy_blocks import move_blocks
from fanout.copying.source_directories import attributes_in
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard
from fanout.request.options import Compare
from fanout.shards.tasks.attempts import TaskNotes, TaskProgress
from fanout.shards.tasks.forecast_threads import threads_of
from fanout.shards.tasks.outcome_writer import OutcomeWriter, out_of_time_outcome, settled_indexes
from fanout.shards.tasks.shard_task import ShardTask
from fanout.staging.digest_destination import same_as_noted
from fanout.staging.pack_writer import PackWriter
from fanout.staging.packed_tree import staged_entries
from fanout.staging.staged_blocks import ConfirmedTree, StagedBlockTarget
from fanout.verifying.verifier import Verifier
from fanout.work.context import Context


def pack_shard(shard: Shard, context: Context) -> Json:
    """Stage what it has time for; returns ``cursor`` (entries staged now) and ``done``, which UnpackShard decides.

    An entry that cannot be read gets its outcome here. Raises ``Transient`` if nothing at all could be staged for
    temporary reasons.
    """
    if shard.done:
        return {"cursor": 0, "done": False}
    if shard.blocks is not None:
        return {"cursor": _pack_blocks(shard, context).cursor, "done": False}
    task = ShardTask("pack", "staged", shard, context)
    plan, ledger = task.plan, task.ledger
    staged = staged_entries(ledger.staged(), shard.id).entries
    left = task.left(enumerate(ledger.read_shard(shard)), settled_indexes(shard, ledger))
    work = [(index, entry) for index, entry in left if entry.path not in staged]
    source = context.source(plan)
    packs = PackWriter(ledger.staged(), shard.id, context.nonce, context.clock.now, attributes_in(source))
    same: Callable[[Entry], str | None] = never_same
    if plan.request.compare is Compare.CHECKSUM:
        same = same_as_noted(shard, source, Verifier(source, task.deadline, task.limiter), context)
    copier = Copier(
        source,
        packs,
        task.deadline,
        symlinks=plan.request.symlinks,
        same=same,
        limiter=task.limiter,
        now=context.clock.now,
    )
    _pack(work, copier, packs, task, task.notes(len(staged)), threads_of(ledger))
    return {"cursor": packs.staged_entries, "done": False}


def _pack(
    work: list[tuple[int, Entry]],
    copier: Copier,
    packs: PackWriter,
    task: ShardTask,
    notes: TaskNotes,
    most: int,
) -> None:
    """Stage entries with ``most`` threads, and write the outcomes of those that cannot be."""
    writer = OutcomeWriter(task.shard, task.context, plan=task.plan)
    passing: dict[int, Outcome] = {}
    threads = min(most, len(work)) or 1
    done = copier.copy_all(work, threads)
    for index, outcome in notes.along(done, lambda one: one.size if one.result is Result.COPIED else 0):
        if outcome.reason is Reason.TRANSIENT:
            passing[index] = outcome
        elif outcome.result is not Result.COPIED:
            writer.add(index, outcome, [])
    packs.flush()
    writer.flush([])
    has_done = packs.staged_entries + writer.written > 0
    late = [] if has_done else task.too_late(len(work), passing, copier.unfinished)
    for index, outcome in (*passing.items(), *((index, out_of_time_outcome(entry)) for index, entry in late)):
        writer.add(index, outcome, [])
    writer.flush([])


def _pack_blocks(shard: Shard, context: Context) -> TaskProgress:
    assert shard.blocks is not None
    task = ShardTask("pack", "staged", shard, context)
    ledger = task.ledger
    big = ledger.read_big_file(shard.key)
    settled = settled_indexes(shard, ledger)
    wanted = [index for index in range(*shard.blocks) if index not in settled]
    source = ConfirmedTree(context.source(task.plan))
    target = StagedBlockTarget(ledger.staged(), shard.id)
    packing = replace(shard, id=keys.packed_id(shard.id))
    return move_blocks(packing, big, source, target, wanted, task)
