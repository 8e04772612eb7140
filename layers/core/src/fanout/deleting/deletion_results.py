"""Reads the outcomes of what a sync deletes at the destination, or a move at the source, from its ledger."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.deleting.deletions import deleted_directories, deleted_files, listed_extras
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count, no_counts
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import INFRASTRUCTURE, RunError
from fanout.model.outcome import Result
from fanout.model.shard import Shard
from fanout.request.plan import Plan
from fanout.shards.shard_results import ShardResult, shard_result


def ledger_of_deletion(ledger: Ledger) -> Ledger:
    """The ledger that holds what a run deletes: of a move that of its comparison."""
    return ledger.verification() if ledger.read_plan().moves else ledger


def deletion_results(ledger: Ledger) -> ShardResult:
    """The result of all shards to delete; an entry without an outcome is failed. Nothing if no deletion began."""
    ledger = ledger_of_deletion(ledger)
    results = no_counts()
    failures: list[Outcome] = []
    for shard in deletion_shards(ledger):
        found = shard_result(shard, ledger)
        results = {result: results[result] + found.results[result] for result in Result}
        failures += found.failures
    return ShardResult(results, failures)


def not_moved(plan: Plan, deleted: ShardResult, proven: Count | None) -> RunError | None:
    """The error of a move that found so much equal and has no outcome of the deletion of all of it."""
    if not plan.moves or sum(deleted.results.values(), Count()) == proven:
        return None
    return RunError(INFRASTRUCTURE, "all is copied and proven, and not all of it was deleted at the source: retry")


def deleted_entries(ledger: Ledger) -> Iterator[Outcome]:
    """The outcomes of the entries that the run deleted, each once. Raises ``LedgerBroken``."""
    ledger = ledger_of_deletion(ledger)
    for shard in deletion_shards(ledger):
        told: set[int] = set()
        for file in ledger.outcome_files(shard.id):
            for index, outcome in ledger.read_outcomes(file):
                if outcome.result is Result.DELETED and index not in told:
                    told.add(index)
                    yield outcome


def deletion_shards(ledger: Ledger) -> list[Shard]:
    """The shards to delete, of ``ledger_of_deletion``; none if no deletion began. Raises ``LedgerBroken``."""
    if not ledger.whole_run().has(keys.phase_key("delete")) and not ledger.has(keys.DELETIONS):
        return []
    shards = [one.shard for one in (*deleted_files(ledger), *deleted_directories(ledger))]
    if ledger.is_verification:
        return shards
    held = sum(shard.entries for shard in shards)
    extra = listed_extras(ledger, ledger.read_plan().request).extra.entries
    if held != extra and (held or not ledger.has(keys.note_key("delete"))):  # the note says why none was to go
        raise ledger.broken(keys.DELETIONS, f"and {keys.DELETED_DIRECTORIES} hold {held} of {extra} entries to delete")
    return shards
