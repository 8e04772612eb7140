"""Reads the outcomes of a shard's entries from its files."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.documents import disjoint, indexes_of
from fanout.ledger.ledger import Ledger, OutcomeFile
from fanout.ledger.rows import big_file_outcome_from_row, big_file_time_from_row
from fanout.model.books import Count, no_counts, tally
from fanout.model.entry import Entry
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import TROUBLE, Reason, Result
from fanout.model.shard import Shard
from fanout.shards.round_records import rounds_done


class ShardResult(Struct, frozen=True):
    """A shard's totals, the outcomes that need attention, and the seconds that all attempts took."""

    results: dict[Result, Count]
    failures: list[Outcome]
    seconds: float = 0.0


class Absent(Struct, frozen=True):
    """Why an entry has no outcome."""

    reason: Reason
    message: str

    def outcome(self, entry: Entry) -> Outcome:
        """The outcome that it gets instead."""
        return Outcome.because(entry, self.reason, self.message)


SHARD_FAILED = Absent(Reason.SHARD_FAILED, "no outcome was written")


def shard_result(shard: Shard, ledger: Ledger, absent: Absent = SHARD_FAILED) -> ShardResult:
    """The result of a shard, each entry counted once whatever number of attempts wrote it.

    An entry without an outcome is failed for the reason ``absent``: nothing that was listed is lost in silence.
    """
    files = ledger.outcome_files(shard.id)
    seconds = sum(file.seconds for file in files)
    if _covered(files) < shard.entries or not disjoint(file.ranges for file in files):
        return result_of(_by_entry(shard, files, ledger, absent).values(), seconds)
    results = no_counts()
    for file in files:
        results = {result: results[result] + file.results[result] for result in Result}
    return ShardResult(results, list(_wanted(files, ledger, TROUBLE)), seconds)


def _covered(files: list[OutcomeFile]) -> int:
    """How many entries have an outcome."""
    return len(set().union(*(indexes_of(file.ranges) for file in files)))


def _wanted(files: list[OutcomeFile], ledger: Ledger, wanted: Collection[Result]) -> Iterator[Outcome]:
    """The outcomes of these results; files whose totals show none of them are not read."""
    for file in files:
        if any(file.results[result].entries for result in wanted):
            yield from (outcome for _, outcome in ledger.read_outcomes(file) if outcome.result in wanted)


def result_of(outcomes: Collection[Outcome], seconds: float = 0.0) -> ShardResult:
    """The totals of outcomes, each of another entry, and those that need attention."""
    return ShardResult(tally(outcomes), [outcome for outcome in outcomes if outcome.result in TROUBLE], seconds)


def shard_outcomes(
    shard: Shard, ledger: Ledger, wanted: Collection[Result], absent: Absent | None = SHARD_FAILED
) -> Iterator[Outcome]:
    """The outcomes of a shard's entries that are ``wanted``, each entry once; holds one shard at most.

    An entry without an outcome is failed for the reason ``absent``, and left out without one. Files whose totals show
    none of the wanted outcomes are not read.
    """
    files = ledger.outcome_files(shard.id)
    if (absent is not None and _covered(files) < shard.entries) or not disjoint(file.ranges for file in files):
        outcomes = _by_entry(shard, files, ledger, absent).values()
        yield from (outcome for outcome in outcomes if outcome.result in wanted)
    else:
        yield from _wanted(files, ledger, wanted)


def _by_entry(shard: Shard, files: list[OutcomeFile], ledger: Ledger, absent: Absent | None) -> dict[int, Outcome]:
    """Attempts that ran at the same time may both have an outcome for an entry: a copy counts before a failure."""
    outcomes: dict[int, Outcome] = {}
    for file in files:
        for index, outcome in ledger.read_outcomes(file):
            known = outcomes.get(index)
            if known is None or known.result in TROUBLE:
                outcomes[index] = outcome
    if len(outcomes) < shard.entries and absent is not None:
        for index, entry in enumerate(ledger.read_shard(shard)):
            if index not in outcomes:
                outcomes[index] = absent.outcome(entry)
    return outcomes


def big_file_results(ledger: Ledger, absent: Absent = SHARD_FAILED) -> ShardResult:
    """The result of all big files together; one without an outcome is failed."""
    return result_of(list(outcomes_of_big_files(ledger, absent)))


def outcomes_of_big_files(ledger: Ledger, absent: Absent | None = SHARD_FAILED) -> Iterator[Outcome]:
    """The outcome of each big file that the listing counts; one without is failed, or left out without ``absent``."""
    found = dict(big_file_outcomes(ledger))
    for done in rounds_done(ledger):
        for big in done.big_files:
            if big.id in found:
                yield found[big.id]
            elif absent is not None:
                yield absent.outcome(ledger.read_big_file(keys.big_file_key(big.id)).entry)


def big_file_outcomes(ledger: Ledger, shard_id: str = "") -> Iterator[tuple[str, Outcome]]:
    """The outcomes of big files that FinishTree and FinishShard wrote, or one FinishShard, each with the file's id."""
    for key in ledger.keys(f"{keys.BIG_FILE_OUTCOMES}{shard_id}-" if shard_id else keys.BIG_FILE_OUTCOMES):
        yield from ledger.read_rows_as(key, big_file_outcome_from_row)


def copied_big_files(ledger: Ledger) -> set[str]:
    """The ids of the big files that were put together and given their place: only of these is a copy to be verified."""
    return {found for found, outcome in big_file_outcomes(ledger) if outcome.result is Result.COPIED}


def big_file_times(ledger: Ledger) -> dict[str, float]:
    """By when each big file was whole, by its id, in seconds since 1970; the last of several attempts counts."""
    times: dict[str, float] = {}
    for key in ledger.keys(keys.BIG_FILE_OUTCOMES):
        for big_file_id, at in ledger.read_rows_as(key, big_file_time_from_row):
            times[big_file_id] = max(at, times.get(big_file_id, 0.0))
    return times
