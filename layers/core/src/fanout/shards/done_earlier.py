"""Entries that an earlier run copied and did not verify: outcomes without a copy, and a verification."""

from __future__ import annotations

from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Reason, Result
from fanout.model.shard import Shard


def is_to_verify(shard: Shard, outcome: Outcome) -> bool:
    """Whether ``verify: copied`` is about an entry of a shard: it was copied, by this run or by an earlier one."""
    return outcome.result is Result.COPIED or (shard.done and outcome.reason is Reason.DONE_EARLIER)
