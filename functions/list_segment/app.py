"""Lambda handler of the states ListSegment and ListDestination."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.events import End, end_of, segment_of
from fanout.handlers import handle
from fanout.steps.list_destination import list_destination
from fanout.steps.list_segment import list_segment

USE_CASES = {End.BOTH: ("ListSegment", list_segment), End.DESTINATION: ("ListDestination", list_destination)}


def handler(event: Json, context: Any) -> Json:
    """List one segment, or what the destination holds of it for the function that does not see that."""
    segment = segment_of(event)
    state, use_case = USE_CASES[end_of(event)]
    return handle(state, event, context, lambda step: use_case(segment, step), segment_id=segment.id)
