"""RecordShardFailure: gives every entry of a failed shard that has no outcome the outcome failed."""

from __future__ import annotations

from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import OutOfBudget, OutOfTime, run_error
from fanout.model.outcome import Reason
from fanout.model.shard import Receipt, Shard
from fanout.shards.record import write_outcomes, write_receipts
from fanout.shards.tasks.outcome_writer import settled_indexes
from fanout.work.context import Context

# The errors of a task whose run reached a limit of its request.
_STOPPED = frozenset({OutOfTime.__name__, OutOfBudget.__name__})


def record_shard_failure(shard: Shard, error: Json, context: Context) -> Json:
    """Write the outcome failed for each entry that has none; nothing where a limit of the request stopped the run.

    ``error`` is what Catch caught (Error, Cause). Returns how many failed.
    """
    found = run_error(error)
    if found.name in _STOPPED:  # no failure: the run that resumes this one copies the rest
        return {"failed": 0}
    settled = settled_indexes(shard, context.ledger)
    message = f"{found.name}: {found.message}"
    if shard.blocks is not None:
        return _fail_blocks(shard, settled, message, context)
    outcomes = {
        index: Outcome.because(entry, Reason.SHARD_FAILED, message)
        for index, entry in enumerate(context.ledger.read_shard(shard))
        if index not in settled
    }
    if outcomes:
        write_outcomes(shard.id, f"{context.nonce}{keys.FAILED}", outcomes, context.ledger)
    return {"failed": len(outcomes)}


def _fail_blocks(shard: Shard, settled: set[int], message: str, context: Context) -> Json:
    assert shard.blocks is not None
    missing = [index for index in range(*shard.blocks) if index not in settled]
    receipts = {index: Receipt(index, reason=Reason.SHARD_FAILED, message=message) for index in missing}
    if receipts:
        write_receipts(shard.id, f"{context.nonce}{keys.FAILED}", receipts, 0, context.ledger)
    return {"failed": len(receipts)}
