"""Lambda handler of the state PlanTransfer."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import make_account, make_executions, make_work_store, settings
from fanout.doctor import is_doctor, require_s3
from fanout.domain.rows import Json
from fanout.events import plan_event
from fanout.handlers import handle
from fanout.steps.context import Context
from fanout.steps.plan_transfer import plan_transfer
from fanout.telemetry import run_planned
from fanout.turns_doctor import examine_turns


def handler(event: Json, context: Any) -> Json:
    """Make the plan of a request, or say whether runs at the same time can be kept apart and fit into the account."""
    if is_doctor(event):
        return examine_turns(event, make_work_store(), make_executions(), make_account())
    require_s3()
    task, here = plan_event(event), settings()
    mounts = tuple(here.mounts)

    def plan(step: Context) -> Json:
        offered, bucket = task.functions, here.work_bucket
        answer = plan_transfer(task.request, step, mounts, here.max_concurrency, bucket, offered, task.execution)
        run_planned(answer)
        return answer

    return handle("PlanTransfer", event, context, plan, run_id=task.run_id)
