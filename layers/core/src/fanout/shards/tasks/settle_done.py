"""Settles a shard of entries that an earlier run copied: ListSegment found them, and VerifyShard verifies them."""

from __future__ import annotations

from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason
from fanout.model.shard import Shard
from fanout.shards.tasks.attempts import TaskProgress
from fanout.shards.tasks.outcome_writer import OutcomeWriter, settled_indexes
from fanout.shards.tasks.shard_task import ShardTask
from fanout.work.context import Context


def settle_done(shard: Shard, context: Context) -> TaskProgress:
    """Write the outcome of every entry that has none: unchanged."""
    task = ShardTask("copy", "settled", shard, context)
    left = task.left(enumerate(task.ledger.read_shard(shard)), settled_indexes(shard, task.ledger))
    writer = OutcomeWriter(shard, task.context, plan=task.plan)
    for index, entry in left:
        writer.add(index, Outcome.because(entry, Reason.DONE_EARLIER), [])
    writer.flush([])
    return task.progress(writer.written, writer.copied, writer.failures)
