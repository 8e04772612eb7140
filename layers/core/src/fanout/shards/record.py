"""The record of one attempt at a shard: all that it found, in one document, which it writes last.

| what an attempt found                    | where it is                                           |
|------------------------------------------|-------------------------------------------------------|
| totals, ranges, findings and sums        | in the record                                         |
| the outcome of each entry, or each block | in the rows of the same name, which the record counts |
| attributes of directories that it made   | in the file of the same name, which the record counts |
| entries that it proved equal             | in shards that the record names                       |

What a record holds or names counts, each entry once: see ``each_once``. What no record names is nothing: an attempt
that was lost before its record has found nothing. ``records``, ``each_once`` and ``add_up`` are the only readers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.documents import Range, disjoint, indexes_of, ranges_of
from fanout.ledger.kind import ObjectKind, RowsKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import indexed_outcome_from_row, outcome_row, receipt_from_row, receipt_row
from fanout.model.books import Count, no_counts, tally
from fanout.model.entry_outcome import EntryFinding, Outcome
from fanout.model.outcome import TROUBLE, Result
from fanout.model.shard import Deletion, Receipt, Shard
from fanout.shards.found_sums import BothDigests, Certified
from fanout.work.parallel import ahead

# Chosen: examples that a note shows.
EXAMPLES = 5
_MORE_THAN_FAILURES = "holds more than failures, and RecordShardFailure has looked at nothing"


class UnreadEntries(Struct, frozen=True):
    """Entries of a shard of whose metadata the same was not read, and examples."""

    what: str
    ranges: list[Range]
    examples: list[str]


class Proven(Struct, frozen=True):
    """The shards of what one attempt at a shard, or at the big files, found equal, and its first and last path.

    ``names`` are shards of names of files with several.
    """

    deletions: list[Deletion]
    first: str = ""
    last: str = ""
    names: list[Shard] = []

    @property
    def shards(self) -> list[Shard]:
        """The shards of all that was proven."""
        return [*(one.shard for one in self.deletions), *self.names]

    @property
    def entries(self) -> int:
        """How many entries they hold."""
        return sum(shard.entries for shard in self.shards)


class Record(Struct, frozen=True, omit_defaults=True):
    """The findings of one attempt, or of one of its files: the entries, or blocks, that it is about, and their totals.

    ``seconds`` is the time that they took, ``at`` a time by which all was done, in seconds since 1970; 0 where nothing
    asks for it. ``taken_over`` counts what an earlier run had found. ``directories`` are the rows of the attributes of
    directories that belong to it. A comparison adds its ``findings``, the entries of each, its ``digests``, what it
    ``certified``, and what it proved.
    """

    ranges: list[Range]
    outcomes: dict[Result, Count]
    seconds: float = 0.0
    at: float = 0.0
    directories: int = 0
    taken_over: int = 0
    unread: list[UnreadEntries] = []
    findings: dict[EntryFinding, list[Range]] = {}
    digests: BothDigests | None = None
    certified: Certified | None = None
    proven: Proven | None = None
    # Where it was read; no document holds it.
    key: str = ""

    @property
    def shard_id(self) -> str:
        """The name under which its shard's records are."""
        return self.key.removeprefix(keys.OUTCOMES).rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its own name among the records of the shard."""
        return self.key.rpartition("/")[2].removesuffix(".json")

    @property
    def is_of_failures(self) -> bool:
        """Whether RecordShardFailure wrote it, whose role can write no other names."""
        return self.name.endswith(keys.FAILED)

    @property
    def rows(self) -> str:
        """The key of its rows."""
        return f"{self.key.removesuffix('.json')}.jsonl.gz"

    @property
    def entries(self) -> int:
        """How many rows it has."""
        return sum(end - first for first, end in self.ranges)

    @property
    def results(self) -> dict[Result, Count]:
        """Its totals, by every result."""
        return no_counts() | self.outcomes

    def said(self, what: str) -> frozenset[int]:
        """The entries of whose metadata this was not read."""
        return frozenset(indexes_of(one for some in self.unread if some.what == what for one in some.ranges))


record_key = ObjectKind(keys.OUTCOMES + "{shard_id}/{name}.json", Record, by=keys.ON_SHARDS, waits=True)
record_rows_key = RowsKind(keys.OUTCOMES + "{shard_id}/{name}.jsonl.gz", by=keys.ON_SHARDS)
# RecordShardFailure has looked at nothing, so it records failures alone: more under such a name is refused.
_FAILURE = ObjectKind(
    keys.OUTCOMES + "{shard_id}/{name}" + keys.FAILED + ".json",
    Record,
    by=(*keys.ON_SHARDS, "RecordShardFailure"),
    waits=True,
    area=f"{keys.OUTCOMES}*{keys.FAILED}.json*",
)


Counted = tuple[Record, int, Outcome]


def record_of(outcomes: Mapping[int, Outcome]) -> Record:
    """The record of outcomes by the index of their entry: their totals, and what was not read of metadata."""
    indexes: defaultdict[str, list[int]] = defaultdict(list)
    for index, outcome in outcomes.items():
        for what, _ in outcome.unread:
            indexes[what].append(index)
    unread = [
        UnreadEntries(what, ranges_of(some), [example(what, outcomes[index]) for index in sorted(some)[:EXAMPLES]])
        for what, some in indexes.items()
    ]
    return Record(ranges_of(outcomes), tally(outcomes.values()), unread=unread)


def write_outcomes(
    shard_id: str, name: str, outcomes: Mapping[int, Outcome], ledger: Ledger, record: Record | None = None
) -> None:
    """Write outcomes by the index of their entry: the rows first, then the record, which makes them count."""
    ledger.write_rows(
        record_rows_key(shard_id, name), (outcome_row(outcome, index) for index, outcome in outcomes.items())
    )
    ledger.write(record_key(shard_id, name), record_of(outcomes) if record is None else record)


def write_receipts(
    shard_id: str, name: str, receipts: Mapping[int, Receipt], copied_bytes: int, ledger: Ledger, taken_over: int = 0
) -> None:
    """Write what became of blocks, by their index: the rows first, then the record, which makes them count."""
    ledger.write_rows(record_rows_key(shard_id, name), (receipt_row(receipt) for receipt in receipts.values()))
    record = Record(ranges_of(receipts), {Result.COPIED: Count(0, copied_bytes)}, taken_over=taken_over)
    ledger.write(record_key(shard_id, name), record)


def records(shard_id: str, ledger: Ledger) -> list[Record]:
    """The records of a shard, in the order of their names."""
    return [read_record(key, ledger) for key in record_keys(ledger, keys.outcomes_prefix(shard_id))]


def record_keys(ledger: Ledger, prefix: str = keys.OUTCOMES) -> Iterator[str]:
    """The keys of the records below a prefix: of all shards, or of one."""
    return (key for key in ledger.keys(prefix) if key.endswith(".json"))


def all_records(ledger: Ledger) -> Iterator[Record]:
    """The records of all shards, read side by side."""
    found = ahead(lambda key: read_record(key, ledger), record_keys(ledger), tuning.LEDGER_FILES_AHEAD)
    return (record for _, record in found)


def read_record(key: str, ledger: Ledger) -> Record:
    """The record at a key. Raises ``LedgerBroken``, also where RecordShardFailure wrote more than failures."""
    record = replace(ledger.read(record_key.at(key)), key=key)
    done = [one.entries for result, one in record.outcomes.items() if result not in TROUBLE]
    if record.is_of_failures and (any(done) or record.certified is not None or record.proven is not None):
        raise ledger.broken(key, _MORE_THAN_FAILURES)
    return record


def settled(found: Iterable[Record]) -> set[int]:
    """The indexes of the entries, or blocks, that any of these records is about."""
    return {index for record in found for index in indexes_of(record.ranges)}


def rows_of(record: Record, ledger: Ledger) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of one record, each with the index of its entry, whether they count or not."""
    for index, outcome in ledger.read_rows_as(record.rows, indexed_outcome_from_row, record.entries):
        if record.is_of_failures and outcome.result not in TROUBLE:
            raise ledger.broken(record.rows, _MORE_THAN_FAILURES)
        yield index, outcome


def each_once(found: Sequence[Record], ledger: Ledger, wanted: Collection[Result] | None = None) -> Iterator[Counted]:
    """The outcomes that count of the records of one shard, each with its record and the index of its entry.

    Attempts that ran at the same time may both have one: what was done counts before a failure, the first before
    others. Of records that show none of the ``wanted`` results no rows are read, unless two of them overlap.
    """
    if disjoint(record.ranges for record in found):
        for record in found:
            if wanted is None or any(record.results[result].entries for result in wanted):
                for index, outcome in rows_of(record, ledger):
                    if wanted is None or outcome.result in wanted:
                        yield record, index, outcome
        return
    best: dict[int, Counted] = {}
    for record in found:
        for index, outcome in rows_of(record, ledger):
            known = best.get(index)
            if known is None or known[2].result in TROUBLE:
                best[index] = record, index, outcome
    yield from (one for one in best.values() if wanted is None or one[2].result in wanted)


def add_up(
    found: Sequence[Record], ledger: Ledger, wanted: Collection[Result] | None = None
) -> tuple[Sequence[Record], list[Counted]]:
    """The parts of a shard's records to add: those whose sums count as they are, and the outcomes of the others.

    Where two records have the same entry, no sum of theirs counts: their rows show each entry once.
    """
    if disjoint(record.ranges for record in found):
        return found, []
    return [], list(each_once(found, ledger, wanted))


def read_receipts(shard_id: str, ledger: Ledger) -> dict[int, Receipt]:
    """The outcomes of a shard's blocks; a block that any attempt wrote counts as written."""
    receipts: dict[int, Receipt] = {}
    for record in records(shard_id, ledger):
        for receipt in ledger.read_rows_as(record.rows, receipt_from_row, record.entries):
            if record.is_of_failures and receipt.reason is None:
                raise ledger.broken(record.rows, _MORE_THAN_FAILURES)
            known = receipts.get(receipt.index)
            if known is None or known.reason is not None:
                receipts[receipt.index] = receipt
    return receipts


def example(what: str, outcome: Outcome) -> str:
    """An entry of whose metadata something was not read, with the text of that."""
    return f"{outcome.path} ({dict(outcome.unread)[what]})"
