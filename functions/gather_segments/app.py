"""Lambda handler of the state GatherSegments."""

from __future__ import annotations

from typing import Any

from fanout.domain.rows import Json
from fanout.events import field
from fanout.handlers import handle
from fanout.steps.gather_segments import gather_segments


def handler(event: Json, context: Any) -> Json:
    """Close a round of the listing."""
    number, at_once = (field(event, "list", name) for name in ("round", "max_concurrency"))
    return handle("GatherSegments", event, context, lambda step: gather_segments(number, step, at_once))
