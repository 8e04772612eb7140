"""Lambda handler of the state ListSegment."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.events import segment_of
from fanout.handlers import handle
from fanout.steps.list_segment import list_segment


def handler(event: Json, context: Any) -> Json:
    """List one segment."""
    segment = segment_of(event)
    return handle("ListSegment", event, context, lambda step: list_segment(segment, step), segment_id=segment.id)
