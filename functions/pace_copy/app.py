"""Lambda handler of the states PaceCopy and EndPacing."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.pacing.pace_copy import end_pacing, pace_copy
from fanout.runtime.bootstrap import make_map_runs
from fanout.runtime.events import pace_event
from fanout.runtime.handlers import handle, handle_in_window, not_done
from fanout.work.context import Context


def handler(event: Json, context: Any) -> Json:
    """Pace the copying for some minutes, or note that it has ended; hands back what it was given."""
    task = pace_event(event)
    if task.copied:
        handle("EndPacing", event, context, end_pacing)
        return {"run": task.run, "shards": task.shards, "done": True}

    def pace(step: Context) -> Json:
        return pace_copy(task.execution_arn, step, make_map_runs())

    paced = handle_in_window("PaceCopy", event, context, pace, not_done)
    return {"run": task.run, "shards": task.shards, **paced}
