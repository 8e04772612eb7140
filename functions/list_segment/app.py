"""Lambda handler of the states ListSegment and ListDestination."""

from __future__ import annotations

from typing import Any

from fanout.listing.hand_back import hand_segment_back, leave_segment
from fanout.model.document import Json
from fanout.resuming.carry_over import list_in_window, list_or_carry_over
from fanout.resuming.look_there import list_or_look
from fanout.runtime.events import End, end_of, segment_of, window_of
from fanout.runtime.handlers import handle_in_window

USE_CASES = {
    End.BOTH: ("ListSegment", list_or_carry_over, hand_segment_back),
    End.DESTINATION: ("ListDestination", list_or_look, leave_segment),
}


def handler(event: Json, context: Any) -> Json:
    """List one segment, or what the destination holds of it for the function that does not see that."""
    segment, end = segment_of(event), end_of(event)
    state, use_case, hand_back = USE_CASES[end]
    if end is End.BOTH and window_of(event):
        use_case = list_in_window
    return handle_in_window(
        state,
        event,
        context,
        lambda step: use_case(segment, step),
        lambda step: hand_back(segment, step),
        segment_id=segment.id,
    )
