"""Reads the outcomes of a shard's entries from its files."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.documents import Range, indexes_of
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import big_file_outcome_from_row, big_file_time_from_row
from fanout.model.books import Count, no_counts, tally
from fanout.model.entry import Entry
from fanout.model.entry_outcome import EntryFinding, Outcome
from fanout.model.outcome import TROUBLE, Reason, Result
from fanout.model.shard import Shard
from fanout.shards.found_sums import BothDigests, both_digests
from fanout.shards.record import (
    EXAMPLES,
    Counted,
    Record,
    add_up,
    each_once,
    example,
    records,
    settled,
)
from fanout.shards.round_records import rounds_done


class Unread(Struct, frozen=True):
    """How many entries have the same unread metadata, and examples."""

    entries: int
    examples: tuple[str, ...]

    def __add__(self, other: Unread) -> Unread:
        examples = sorted({*self.examples, *other.examples})[:EXAMPLES]
        return Unread(self.entries + other.entries, tuple(examples))


class RecordSums(Struct, frozen=True):
    """The sums of records over shards, each entry once; the fields are those of ``Record``."""

    findings: Mapping[EntryFinding, int] = {}
    digests: BothDigests = BothDigests()
    unread: dict[str, Unread] = {}

    def __add__(self, other: RecordSums) -> RecordSums:
        unread = dict(self.unread)
        for what, found in other.unread.items():
            unread[what] = unread[what] + found if what in unread else found
        findings = Counter(self.findings) + Counter(other.findings)
        return RecordSums(findings, self.digests + other.digests, unread)


def unread_of(outcomes: Iterable[Outcome]) -> RecordSums:
    """The sums of outcomes that no record is about, as those of big files."""
    sums = RecordSums()
    for outcome in outcomes:
        if outcome.unread:
            found = {what: Unread(1, (example(what, outcome),)) for what, _ in outcome.unread}
            sums += RecordSums(unread=found)
    return sums


def sums_of(found: Sequence[Record], ledger: Ledger) -> RecordSums:
    """The sums of the records of one shard. Where two overlap, their rows show which of them has an entry."""
    return _sums_of(found, *add_up(found, ledger))


def _sums_of(found: Sequence[Record], whole: Sequence[Record], outcomes: Sequence[Counted]) -> RecordSums:
    sums = sum((_sums(record) for record in whole), RecordSums())
    if not outcomes:
        return sums
    counting: defaultdict[str, set[int]] = defaultdict(set)
    for record, index, _ in outcomes:
        counting[record.key].add(index)
    for record in found:
        sums += replace(_sums(record, counting[record.key]), digests=BothDigests())
    compared = both_digests(outcome for record, _, outcome in outcomes if record.digests is not None)
    return sums + RecordSums(digests=compared)


def _sums(record: Record, only: Collection[int] | None = None) -> RecordSums:
    """The sums of one record, or of ``only`` these entries of it."""
    if not (record.findings or record.unread or record.digests):
        return RecordSums()

    def counts(ranges: list[Range]) -> int:
        return len(indexes_of(ranges) if only is None else indexes_of(ranges).intersection(only))

    found = {one.what: Unread(counts(one.ranges), tuple(one.examples)) for one in record.unread}
    return RecordSums(
        {what: counts(ranges) for what, ranges in record.findings.items()},
        record.digests or BothDigests(),
        {what: one for what, one in found.items() if one.entries},
    )


def unread_notes(sums: RecordSums, only: str = "") -> list[str]:
    """A note for each finding, or for one alone: how many entries, and examples."""
    return [
        f"{what}: {one.entries:,}, for example {'; '.join(one.examples)}"
        for what, one in sorted(sums.unread.items())
        if only in ("", what)
    ]


class ShardResult(Struct, frozen=True):
    """A shard's totals, the outcomes that need attention, the seconds that all attempts took, and their sums."""

    results: dict[Result, Count]
    failures: list[Outcome]
    seconds: float = 0.0
    sums: RecordSums = RecordSums()


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
    found = records(shard.id, ledger)
    whole, counted = add_up(found, ledger)
    outcomes = [*(outcome for _, _, outcome in counted), *_lacking(shard, found, ledger, absent)]
    results = _added([tally(outcomes), *(record.results for record in whole)])
    failures = [outcome for _, _, outcome in each_once(whole, ledger, TROUBLE)]
    failures += [outcome for outcome in outcomes if outcome.result in TROUBLE]
    seconds = sum(record.seconds for record in found)
    return ShardResult(results, failures, seconds, _sums_of(found, whole, counted))


def total_of(found: Iterable[ShardResult]) -> ShardResult:
    """The results of shards together."""
    results = list(found)
    return ShardResult(
        _added(one.results for one in results),
        [outcome for one in results for outcome in one.failures],
        sum(one.seconds for one in results),
        sum((one.sums for one in results), RecordSums()),
    )


def _added(counts: Iterable[Mapping[Result, Count]]) -> dict[Result, Count]:
    added = no_counts()
    for one in counts:
        added = {result: count + one[result] for result, count in added.items()}
    return added


def result_of(outcomes: Collection[Outcome]) -> ShardResult:
    """The totals of outcomes, each of another entry, and those that need attention."""
    failures = [outcome for outcome in outcomes if outcome.result in TROUBLE]
    return ShardResult(tally(outcomes), failures, sums=unread_of(outcomes))


def shard_outcomes(
    shard: Shard, ledger: Ledger, wanted: Collection[Result], absent: Absent | None = SHARD_FAILED
) -> Iterator[Outcome]:
    """The outcomes of a shard's entries that are ``wanted``, each entry once; holds one shard at most.

    An entry without an outcome is failed for the reason ``absent``, and left out without one. Rows of records that
    show none of the wanted outcomes are not read.
    """
    found = records(shard.id, ledger)
    yield from (outcome for _, _, outcome in each_once(found, ledger, wanted))
    if absent is not None and absent.reason.result in wanted:
        yield from _lacking(shard, found, ledger, absent)


def _lacking(shard: Shard, found: Sequence[Record], ledger: Ledger, absent: Absent) -> Iterator[Outcome]:
    """The outcomes of entries that have none."""
    known = settled(found)
    if known and max(known) >= shard.entries:
        raise ledger.broken(found[-1].key, f"is about entry {max(known)} of a shard of {shard.entries}")
    if len(known) < shard.entries:
        for index, entry in enumerate(ledger.read_shard(shard)):
            if index not in known:
                yield absent.outcome(entry)


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


def is_to_verify(shard: Shard, outcome: Outcome) -> bool:
    """Whether ``verify: copied`` is about an entry of a shard: it was copied, by this run or by an earlier one."""
    return outcome.result is Result.COPIED or (shard.done and outcome.reason is Reason.DONE_EARLIER)
