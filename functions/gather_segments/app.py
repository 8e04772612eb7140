"""Lambda handler of the state GatherSegments."""

from __future__ import annotations

from typing import Any

from fanout.listing.gather_segments import gather_segments
from fanout.model.document import Json
from fanout.runtime.events import field
from fanout.runtime.handlers import handle, pause_of


def handler(event: Json, context: Any) -> Json:
    """Close a round of the listing."""
    number, at_once = (field(event, "list", name) for name in ("round", "max_concurrency"))
    gathered = handle("GatherSegments", event, context, lambda step: gather_segments(number, step, at_once))
    return {**gathered, "until": pause_of(event)}
