"""Hands a segment back as it came: the window of the run is closed."""

from __future__ import annotations

from fanout.ledger import keys
from fanout.model.books import Count
from fanout.model.document import Json
from fanout.model.outcome import Result
from fanout.model.segment import Segment
from fanout.shards.crowds import Crowds
from fanout.shards.rounds import SegmentRecord
from fanout.shards.sizes import Sizes
from fanout.work.context import Context


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
    context.ledger.write(keys.segment_key(segment.id), record)
    return {"segment": segment.id}


def leave_segment(segment: Segment, _context: Context) -> Json:
    """ListDestination lists nothing: ListSegment, which finds no listing, hands the segment back."""
    return {"segment": segment.id, "count": 0}
