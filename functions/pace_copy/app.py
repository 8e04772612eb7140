"""Lambda handler of the states PaceCopy and EndPacing."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import make_map_runs
from fanout.domain.rows import Json
from fanout.events import pace_event
from fanout.handlers import handle
from fanout.steps.pace_copy import end_pacing, pace_copy


def handler(event: Json, context: Any) -> Json:
    """Pace the copying for some minutes, or note that it has ended; hands back what it was given."""
    task = pace_event(event)
    if task.copied:
        handle("EndPacing", event, context, end_pacing)
        return {"run": task.run, "shards": task.shards, "done": True}
    paced = handle("PaceCopy", event, context, lambda step: pace_copy(task.execution_arn, step, make_map_runs()))
    return {"run": task.run, "shards": task.shards, **paced}
