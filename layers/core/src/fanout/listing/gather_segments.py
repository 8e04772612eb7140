"""GatherSegments: closes a round of the listing and opens the next one."""

from __future__ import annotations

from fanout.facts.limits import LIST_CONCURRENCY
from fanout.ledger import keys
from fanout.ledger.rows import count_from_row, count_row, counts_from_row, counts_row, segment_from_row
from fanout.listing.rounds import begin_round
from fanout.model.books import Books, Count
from fanout.model.document import SCHEMA_VERSION, Json
from fanout.model.errors import LedgerBroken
from fanout.shards.crowds import Crowds
from fanout.shards.rounds import read_round, segment_record
from fanout.shards.sizes import Sizes
from fanout.work.context import Context

# A round is about 16 of the 25,000 events of an execution (step-functions/latest/dg/service-quotas.html).
ROUNDS = 1_000


def gather_segments(number: int, context: Context, at_once: int = LIST_CONCURRENCY) -> Json:
    """Join the records of a round; returns the reference to the next one (count 0 if nothing is left).

    ``at_once`` functions list it at a time.

    Raises ``LedgerBroken`` if a segment of the round has no record.
    """
    ledger = context.ledger
    left_before = ledger.read_as(keys.round_done_key(number - 1), lambda row: row.get("left")) if number > 1 else None
    segments = read_round(number, left_before or 0, ledger)
    books, complete = Books(), True
    sizes, crowds = Sizes(), Crowds()
    shards: list[Json] = []
    loose: list[Json] = []
    outcome_files: list[str] = []
    big_files: list[Json] = []
    extras: list[str] = []
    directories: list[str] = []
    names: list[Json] = []
    deletions: list[Json] = []
    index: list[Json] = []
    destination, in_scope = Count(), Count()
    seconds = 0.0
    left: list[Json] = []
    for segment in segments:
        record = segment_record(segment.id, ledger)
        books = books.plus(count_from_row(record["listed"]), counts_from_row(record["outcomes"]))
        complete = complete and record["complete"]
        sizes.merge(record["sizes"])
        crowds.merge(record.get("crowds", {}))
        shards += record["shards"]
        loose += [record["loose"]] if record["loose"] else []
        names += record["names"]
        deletions += record["deletions"]
        destination += count_from_row(record["destination"])
        in_scope += count_from_row(record["in_scope"] if "in_scope" in record else record["listed"])
        outcome_files += record["outcome_files"]
        big_files += record["big_files"]
        index += record.get("index", [])
        extras += [record["extras"]] if record["extras"] else []
        directories += record.get("directories", [])
        left += record["left"]
        seconds += record.get("seconds", 0.0)
    ledger.write_json(
        keys.round_done_key(number),
        {
            "schema_version": SCHEMA_VERSION,
            "complete": complete,
            "listed": count_row(books.listed),
            "sizes": sizes.row(),
            "crowds": crowds.row(),
            "outcomes": counts_row(dict(books.by_result)),
            "outcome_files": outcome_files,
            "shards": shards,
            "loose": loose,
            "big_files": big_files,
            "index": index,
            "extras": extras,
            "names": names,
            "in_scope": count_row(in_scope),
            "destination": count_row(destination),
            "deletions": deletions,
            "directories": directories,
            "segments": len(segments),
            "left": len(left),
            "seconds": round(seconds, 3),
        },
    )
    following = number + 1
    if left and following > ROUNDS:
        raise LedgerBroken(f"the listing did not end in {ROUNDS} rounds")
    if not left:
        context.begin("partition")
    return begin_round(context, following, [segment_from_row(row) for row in left], at_once)
