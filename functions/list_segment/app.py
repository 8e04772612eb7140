"""Lambda handler of the states ListSegment and ListDestination."""

from __future__ import annotations

from typing import Any

from fanout.listing.list_destination import list_destination
from fanout.model.document import Json
from fanout.resuming.carry_over import list_or_carry_over
from fanout.runtime.events import End, end_of, segment_of
from fanout.runtime.handlers import handle

USE_CASES = {End.BOTH: ("ListSegment", list_or_carry_over), End.DESTINATION: ("ListDestination", list_destination)}


def handler(event: Json, context: Any) -> Json:
    """List one segment, or what the destination holds of it for the function that does not see that."""
    segment = segment_of(event)
    state, use_case = USE_CASES[end_of(event)]
    return handle(state, event, context, lambda step: use_case(segment, step), segment_id=segment.id)
