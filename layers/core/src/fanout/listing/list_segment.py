"""ListSegment: lists both ends of a segment, decides, and writes shards and outcomes as entries stream by."""

from __future__ import annotations

from fanout.listing.list_destination import noting_failure
from fanout.listing.manifests.list_rows import list_rows
from fanout.listing.segment_task import SegmentTask
from fanout.listing.trees.list_trees import list_trees
from fanout.model.document import Json
from fanout.model.segment import Segment
from fanout.work.context import Context


def list_segment(segment: Segment, context: Context) -> Json:
    """List a segment until it ends, the time is up, or its budget is used; then cut what is left."""
    return noting_failure(_list_segment, segment, context)


def _list_segment(segment: Segment, context: Context) -> Json:
    """List a segment until it ends, the time is up, or its budget is used; then cut what is left.

    Returns nothing of size: the segment's record in the ledger holds the counts, the
    shards and the segments that are left. Raises ``ListingIncomplete``, ``Throttled``
    or ``Transient`` if an end cannot be listed, and then nothing counts.
    """
    task = SegmentTask(segment, context)
    with task.queue() as queue:
        left, matched = (list_trees if segment.manifest is None else list_rows)(task, queue)
    task.entries.close(left, matched)
    task.notes.end()
    return {"segment": segment.id}
