"""Lambda handler of the state PlanTransfer."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.planning.plan_transfer import plan_transfer
from fanout.runtime.bootstrap import make_account, make_executions, make_work_store, settings
from fanout.runtime.doctor import is_doctor, require_s3
from fanout.runtime.events import plan_event
from fanout.runtime.handlers import handle
from fanout.runtime.telemetry import run_planned
from fanout.runtime.turns_doctor import examine_turns
from fanout.work.context import Context


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
