"""Lambda handler of the state PlanProbe."""

from __future__ import annotations

from typing import Any

from fanout.bootstrap import settings
from fanout.domain.rows import Json
from fanout.events import field, only_mount
from fanout.handlers import handle
from fanout.steps.plan_probe import plan_probe


def handler(event: Json, context: Any) -> Json:
    """Split the budget of a probe over its rounds."""
    request, probe_id, here = field(event, "request"), field(event, "run_id"), settings()
    mount = only_mount(here.mounts)
    return handle(
        "PlanProbe",
        event,
        context,
        lambda step: plan_probe(request, step, mount, here.max_concurrency, here.work_bucket),
        run_id=probe_id,
    )
