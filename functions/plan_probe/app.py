"""Lambda handler of the state PlanProbe."""

from __future__ import annotations

from typing import Any

from fanout.model.document import Json
from fanout.probe.plan_probe import plan_probe
from fanout.runtime.bootstrap import settings
from fanout.runtime.events import field, only_mount
from fanout.runtime.handlers import handle


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
