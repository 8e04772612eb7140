"""ListDestination: what a segment holds at a destination that ListSegment does not see."""

from __future__ import annotations

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.documents import SegmentFailed
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import entry_row
from fanout.model.document import Json
from fanout.model.errors import FanoutError
from fanout.model.segment import DestinationListing, Segment
from fanout.request.plan import Plan
from fanout.work.context import Context

ENTRIES_PER_FILE = 50_000


def list_destination(segment: Segment, context: Context) -> Json:
    """Write the destination's entries of a segment; an error is noted in the ledger as ListSegment notes its own."""
    try:
        return _list_destination(segment, context)
    except FanoutError as error:
        failed = SegmentFailed(segment.id, type(error).__name__, str(error))
        context.ledger.write(keys.segment_failed_key(segment.id), failed)
        raise


def _list_destination(segment: Segment, context: Context) -> Json:
    """List until the segment ends, the time is up, or ``tuning.SEGMENT_ENTRIES`` are listed.

    ``cut`` is the path after which the listing broke off, where it did: ListSegment goes no further.
    """
    ledger = context.ledger
    deadline = context.deadline()
    files: list[str] = []
    rows: list[list[object]] = []
    cut, number = "", 0

    def flush() -> None:
        if rows:
            files.append(keys.destination_entries_key(segment.id, context.nonce, len(files)))
            ledger.write_rows(files[-1], rows)
            rows.clear()

    plan = ledger.read_plan()
    context = context.within(plan)
    # Entries carried over from an earlier run are not compared with the destination again.
    listed = () if segment.carried else context.destination(plan).list(segment, plan.request.filters.prunes)
    for number, entry in enumerate(listed, start=1):
        rows.append(entry_row(entry))
        if len(rows) >= ENTRIES_PER_FILE:
            flush()
        if number >= tuning.SEGMENT_ENTRIES or (number % 256 == 0 and deadline.passed):
            cut = entry.path
            break
    flush()
    ledger.write(keys.destination_listing_key(segment.id), DestinationListing(files, cut))
    return {"segment": segment.id, "count": number}


def cut_of(segment: Segment, plan: Plan, ledger: Ledger) -> str:
    """The path at which a listing of the destination by another function broke off; empty where none did."""
    if not plan.request.between_mounts:
        return ""
    return ledger.read(keys.destination_listing_key(segment.id), DestinationListing).cut
