"""GatherSegments: closes a round of the listing and opens the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanout.facts.tuning import LIST_CONCURRENCY
from fanout.ledger.ledger import Ledger
from fanout.ledger.objects import ANOTHERS
from fanout.listing.rounds import begin_round
from fanout.model.books import Books, Count
from fanout.model.document import Json
from fanout.model.errors import LedgerBroken
from fanout.request.filtering.matched import matched_in_all
from fanout.shards.crowds import Crowds
from fanout.shards.round_records import RoundRecord, SegmentRecord, read_round, round_done_key, segment_record
from fanout.shards.sizes import Sizes
from fanout.work.context import Context

# A round is about 16 of the 25,000 events of an execution (step-functions/latest/dg/service-quotas.html).
ROUNDS = 1_000
# The lists of a record, which a round joins.
_LISTS = (
    "outcome_files",
    "shards",
    "loose",
    "big_files",
    "index",
    "extras",
    "directories",
    "deletions",
    "names",
)


def gather_segments(number: int, context: Context, at_once: int = LIST_CONCURRENCY) -> Json:
    """Join the records of a round, close it, and open the next one, which ``at_once`` functions list at a time.

    Returns the reference to the next one (count 0 if nothing is left). Raises ``LedgerBroken`` if a segment of the
    round has no record.
    """
    ledger = context.ledger
    left_before = ledger.read(round_done_key(number - 1)).left if number > 1 else 0
    records = [segment_record(segment.id, ledger) for segment in read_round(number, left_before, ledger)]
    left = [segment for record in records for segment in record.left]
    if not left:
        context.begin("partition")
    if not _closed(number, _round_of(records, len(left)), ledger).left:
        left = []
    following = number + 1
    if left and following > ROUNDS:
        raise LedgerBroken(f"the listing did not end in {ROUNDS} rounds")
    return begin_round(context, following, left, at_once)


def _closed(number: int, record: RoundRecord, ledger: Ledger) -> RoundRecord:
    """The record of a round as it is: this one, or that of an attempt that was lost, which others have read since.

    Raises ``LedgerBroken`` where that one is another, and left segments to list that are not known here.
    """
    key = round_done_key(number)
    if ledger.write_new(key, record):
        return record
    stored = ledger.read(key)
    if stored != record and stored.left:
        raise ledger.broken(key, ANOTHERS)
    return stored


def _round_of(records: Sequence[SegmentRecord], left: int) -> RoundRecord:
    """Combine the records of a round's segments."""
    books, sizes, crowds = Books(), Sizes(), Crowds()
    for record in records:
        books = books.plus(record.listed, record.outcomes)
        sizes.merge(record.sizes)
        crowds.merge(record.crowds)

    def joined(name: str) -> list[Any]:
        return [one for record in records for one in getattr(record, name)]

    return RoundRecord(
        complete=all(record.complete for record in records),
        listed=books.listed,
        sizes=sizes.row(),
        crowds=crowds.row(),
        outcomes=dict(books.by_result),
        **{name: joined(name) for name in _LISTS},
        in_scope=sum((record.in_scope for record in records), Count()),
        destination=sum((record.destination for record in records), Count()),
        in_the_way=sum((record.in_the_way for record in records), Count()),
        published=sum((record.published for record in records), Count()),
        heads=sum(record.heads for record in records),
        matched=matched_in_all(record.matched for record in records),
        seconds=round(sum(record.seconds for record in records), 3),
        segments=len(records),
        left=left,
    )
