"""PlanProbe: what a probe may do, split over its rounds before any of them begins."""

from __future__ import annotations

from typing import Any

from fanout.efs.measurement import state_of
from fanout.ledger.run_places import check_run_name
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.probe.experiments import ENDS_PART, PROBE_PLAN, ProbePlan, check_credits, rounds_of
from fanout.probe.request import parse_probe_request
from fanout.work.context import Context


def plan_probe(document: Any, context: Context, mount: str, max_concurrency: int, bucket: str) -> Json:
    """Check the request and the burst credits, and write probe-plan.json with its rounds; returns their numbers.

    Raises ``InvalidRequest`` where the file system lacks what the budget needs. A file system that cannot be described
    is not probed, because its credits may be others'. A mount without an id, as on a local machine, has no credits.
    """
    began = context.clock.now()
    check_run_name(context.ledger.run_id, "probe_id")
    request = parse_probe_request(document, mount, max_concurrency)
    file_system_id = context.stack.facts.file_systems.get(mount, "")
    state, meter = None, context.stack.meter
    if file_system_id:
        state = state_of(meter.describe(file_system_id), meter.readings(file_system_id, began), began)
        check_credits(state, request)
    ledger = context.ledger
    other = next((key for key in ledger.keys("") if key != PROBE_PLAN), None)
    if other is not None:
        problem = f"{ledger.prefix} holds the ledger of an earlier run ({other})"
        raise InvalidRequest("probe_id", problem, "start it under another name")
    rounds = rounds_of(request)
    ends_at = began + ENDS_PART * request.budget_seconds
    plan = ProbePlan(ledger.run_id, mount, file_system_id, request, began, ends_at, state, rounds)
    ledger.write(PROBE_PLAN, plan)
    return {
        "run": {"id": ledger.run_id, "bucket": bucket, "prefix": ledger.prefix},
        "rounds": [{"number": one.number, "members": list(range(one.functions))} for one in rounds],
    }
