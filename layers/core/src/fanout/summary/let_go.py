"""The note of a move about entries that it deleted though the destination cannot hold all of them.

Their comparison found what is lost. Whether an entry went is what the deletion says: an entry that was equal stays at
the source where the run did not copy it, where somebody changed it since, and where nothing was deleted at all.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from fanout.deleting.deletions import entries_that_stayed
from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.partitioned import is_partitioned, shards_of
from fanout.shards.record import each_once, records
from fanout.shards.shard_results import RecordSums, Unread, sums_of, unread_notes, unread_of
from fanout.verifying.compared_big_files import compared_big_files
from fanout.verifying.not_holdable import LET_GO
from fanout.work.parallel import ahead


def let_go_notes(plan: Plan, ledger: Ledger, deleted: Count) -> list[str]:
    """The note, if anything of that kind is among what the run deleted."""
    compared = ledger.verification()
    if not plan.moves or not compared.has(keys.PLAN):
        return []
    if LET_GO not in _sums(compared, ()).unread:
        return []
    stayed = {outcome.path for outcome in entries_that_stayed(ledger)} if deleted.entries else None
    return [] if stayed is None else unread_notes(_sums(compared, stayed), LET_GO)


def _sums(compared: Ledger, stayed: Collection[str]) -> RecordSums:
    """The sums of the comparison, without those of these paths."""
    shards = shards_of(compared) if is_partitioned(compared) else []
    whole = (shard for shard in shards if shard.blocks is None)
    sums = ahead(partial(_of_shard, compared, stayed), whole, tuning.LEDGER_FILES_AHEAD)
    # No task has a record of the files that were compared in blocks.
    big_files = (one.outcome for one in compared_big_files(compared) if one.outcome.path not in stayed)
    return sum((found for _, found in sums), unread_of(big_files))


def _of_shard(compared: Ledger, stayed: Collection[str], shard: Shard) -> RecordSums:
    found = records(shard.id, compared)
    sums = sums_of(found, compared)
    lost = sums.unread.get(LET_GO)
    if lost is None or not stayed:
        return sums
    said = {record.key: record.said(LET_GO) for record in found}
    paths = [one.path for record, index, one in each_once(found, compared) if index in said[record.key]]
    left = tuple(f"{path} (" for path in paths if path in stayed)
    examples = tuple(one for one in lost.examples if not one.startswith(left))
    entries = lost.entries - len(left)
    return RecordSums(unread={LET_GO: Unread(entries, examples)} if entries else {})
