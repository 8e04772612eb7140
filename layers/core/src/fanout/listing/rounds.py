"""The rounds of a listing: segments that are listed at once, or handed back as they came."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import to_builtins

from fanout.facts import tuning
from fanout.facts.tuning import LIST_CONCURRENCY
from fanout.ledger import keys
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.outcome import Result
from fanout.model.segment import Segment, open_round
from fanout.request.plan import Plan
from fanout.shards.crowds import Crowds
from fanout.shards.round_records import SegmentRecord, write_segment_record
from fanout.shards.sizes import Sizes
from fanout.work.context import Context


def list_concurrency(plan: Plan) -> int:
    """The number of functions that list a round at once."""
    return min(LIST_CONCURRENCY, plan.quota or LIST_CONCURRENCY)


def begin_round(context: Context, number: int, pieces: Sequence[Segment], at_once: int = LIST_CONCURRENCY) -> Json:
    """Write a round's list of segments; returns the reference to it. A count of 0 means that nothing is left to list.

    The only segment of a round travels with the reference, so that it is listed without a Map.
    """
    segments = open_round(number, pieces)
    if segments:
        context.ledger.write(keys.round_key(number), list(segments))
    reference: Json = {
        "round": number,
        "count": len(segments),
        "key": context.ledger.prefix + keys.round_key(number),
        "max_concurrency": at_once,
    }
    only = to_builtins(segments[0]) if len(segments) == 1 else None
    if only is not None and len(json.dumps(only)) <= tuning.SEGMENT_STATE_BYTES:
        reference["segment"] = only
    return reference


def hand_segment_back(segment: Segment, context: Context) -> Json:
    """Write a record as ListSegment does: nothing was listed, and the whole segment is left to the next round."""
    record = SegmentRecord(
        segment=segment,
        complete=True,
        listed=Count(),
        sizes=Sizes().row(),
        crowds=Crowds().row(),
        to_copy=Count(),
        outcomes={result: Count() for result in Result},
        outcome_files=[],
        shards=[],
        loose=[],
        big_files=[],
        index=[],
        extras=[],
        in_scope=Count(),
        destination=Count(),
        directories=[],
        deletions=[],
        names=[],
        heads=0,
        left=[segment],
        seconds=0.0,
    )
    write_segment_record(record, context.ledger)
    return {"segment": segment.id}


def leave_segment(segment: Segment, _context: Context) -> Json:
    """ListDestination lists nothing: ListSegment, which finds no listing, hands the segment back."""
    return {"segment": segment.id, "count": 0}
