"""The books of a run, from its ledger alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct, field

from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import trouble_from_row
from fanout.model.books import Books, Count
from fanout.model.entry_outcome import Outcome
from fanout.model.errors import RunError
from fanout.model.outcome import TROUBLE, Reason
from fanout.model.shard import Shard
from fanout.shards.partitioned import entries_to_copy, is_partitioned, read_partition
from fanout.shards.round_records import rounds_done, whole_listing
from fanout.shards.shard_results import SHARD_FAILED, Absent, RecordSums, big_file_results, shard_result
from fanout.verifying.compared_big_files import compared_result
from fanout.work.parallel import ahead

# Failures that are kept in memory as well as the books, for what needs to see them together.
FAILURES_KEPT = 100_000
# Chosen: shards whose outcomes are read at once.
SHARDS_AT_ONCE = 16


class RunBooks(Struct, frozen=True):
    """The listed entries and their outcomes; ``failures`` are the first ``FAILURES_KEPT``, ``reasons`` cover all.

    ``shard_seconds`` are the seconds of the shards of whole entries, each with all its attempts, ``sums`` those of
    their records.
    """

    books: Books
    complete: bool
    shards: list[Shard]
    failures: list[Outcome]
    shard_seconds: list[float] = field(default_factory=list)
    reasons: Mapping[Reason, int] = field(default_factory=dict)
    sums: RecordSums = RecordSums()


def run_books(
    ledger: Ledger,
    error: RunError | None,
    add_failure: Callable[[Outcome, str], None],
    phase: str,
    absent: Absent = SHARD_FAILED,
) -> RunBooks:
    """Add up the listing and all shards; each failure goes to ``add_failure`` with its phase.

    ``absent`` says why an entry of a shard has no outcome.

    Raises ``LedgerBroken`` if the ledger lacks what a run that did not break off must have written.
    """
    kept: list[Outcome] = []
    reasons: Counter[Reason] = Counter()

    def add(outcome: Outcome, where: str) -> None:
        if outcome.reason is not None:
            reasons[outcome.reason] += 1
        if len(kept) < FAILURES_KEPT:
            kept.append(outcome)
        add_failure(outcome, where)

    books, complete, to_copy = listing_books(ledger, add, broke_off=error is not None)
    shard_seconds: list[float] = []
    sums = RecordSums()
    shards, links = _shards(ledger, error, to_copy)
    if error is not None and not is_partitioned(ledger):  # no shard was worked on
        absent = Absent(Reason.NOT_ATTEMPTED, f"the run ended before it: {error.name}")
    whole = [shard for shard in shards + links if shard.blocks is None]
    # Some at once: one after the other very many take too long.
    for _, result in ahead(lambda shard: shard_result(shard, ledger, absent), whole, SHARDS_AT_ONCE):
        books, sums = books.plus(Count(), result.results), sums + result.sums
        shard_seconds += [result.seconds] if result.seconds else []
        for outcome in result.failures:
            add(outcome, phase)
    compares = ledger.read_plan().request.course.compares
    big_files = compared_result(ledger) if compares else big_file_results(ledger, absent)
    for outcome in big_files.failures:
        add(outcome, phase)
    books, sums = books.plus(Count(), big_files.results), sums + big_files.sums
    return RunBooks(books, complete, shards, kept, shard_seconds, reasons, sums)


def listing_books(
    ledger: Ledger, add: Callable[[Outcome, str], None], *, broke_off: bool = False
) -> tuple[Books, bool, int]:
    """The books of the listing, whether it was complete, and the entries that were to be copied.

    Raises ``LedgerBroken`` if a round is missing, but for the last ones of a run that broke off.
    """
    books, complete = Books(), True
    to_copy = 0
    for done in rounds_done(ledger) if broke_off else whole_listing(ledger):
        results = done.outcomes
        books = books.plus(done.listed, results)
        to_copy += entries_to_copy(done)
        complete = complete and done.complete
        if any(results[result].entries for result in TROUBLE):
            for outcome in _listed_failures(done.outcome_files, ledger):
                add(outcome, "list")
    return books, complete, to_copy


def _listed_failures(files: list[str], ledger: Ledger) -> Iterator[Outcome]:
    for key in files:
        for outcomes in ledger.read_rows_as(key, trouble_from_row):
            yield from outcomes


def _shards(ledger: Ledger, error: RunError | None, to_copy: int) -> tuple[list[Shard], list[Shard]]:
    """The shards of copies, and those of links.

    They must hold every entry that was to be copied, unless the run broke off before.
    """
    if error is not None and not is_partitioned(ledger):
        return [shard for done in rounds_done(ledger) for shard in done.shards + done.loose + done.names], []
    partition = read_partition(ledger, to_copy)
    return partition.shards, [one.shard for one in partition.links]
