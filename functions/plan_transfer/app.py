"""Lambda handler of the state PlanTransfer."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import settings
from fanout.domain.rows import Json
from fanout.events import plan_event
from fanout.handlers import handle
from fanout.steps.plan_transfer import plan_transfer


def handler(event: Json, context: Any) -> Json:
    """Make the plan of a request."""
    task, here = plan_event(event), settings()
    mounts = tuple(here.mounts)
    return handle(
        "PlanTransfer",
        event,
        context,
        lambda step: plan_transfer(task.request, step, mounts, here.max_concurrency, here.work_bucket, task.functions),
        run_id=task.run_id,
    )
