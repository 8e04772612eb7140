"""PlanTransfer: from a request to a plan and the first round of segments."""

from __future__ import annotations

from typing import Any

from fanout.domain import ledger_keys as keys
from fanout.domain.locations import MountLocation
from fanout.domain.plan import Plan
from fanout.domain.request import Mode, Request
from fanout.domain.rows import SCHEMA_VERSION, Json, segment_row
from fanout.domain.segments import Segment
from fanout.domain.weights import DEFAULT_RATES, INSIDE_S3_RATES
from fanout.steps.context import Context

# Functions that list at once in a round.
LIST_CONCURRENCY = 40


def plan_transfer(document: Any, context: Context, mounts: tuple[str, ...], max_concurrency: int, bucket: str) -> Json:
    """Check the request and the S3 end, write request.json, plan.json and round 1.

    Returns the references that the other states travel with. Raises ``InvalidRequest``
    or ``AccessDenied`` before anything is written.
    """
    began = context.clock.now()
    # Here, because the states that only check or list need none of pydantic's import time.
    from fanout.requests import parse_request

    request = parse_request(document, mounts, max_concurrency)
    plan = Plan(context.ledger.run_id, request, INSIDE_S3_RATES if request.inside_s3 else DEFAULT_RATES)
    check_ends(plan, context, on_mount=False)
    ledger = context.ledger
    ledger.write_json(keys.phase_key("plan"), {"began": began})
    ledger.write_json(keys.REQUEST, {"schema_version": SCHEMA_VERSION, "request": document})
    ledger.write_plan(plan)
    ledger.write_json(keys.round_key(1), [segment_row(Segment("0001-000000"))])
    return {
        "run": {"id": ledger.run_id, "bucket": bucket, "prefix": ledger.prefix},
        "list": list_reference(context, 1, 1),
    }


def list_reference(context: Context, number: int, count: int) -> Json:
    """The reference to a round of ``count`` segments; a count of 0 means that nothing is left to list."""
    return {
        "round": number,
        "count": count,
        "key": context.ledger.prefix + keys.round_key(number),
        "max_concurrency": LIST_CONCURRENCY,
    }


def check_ends(plan: Plan, context: Context, *, on_mount: bool) -> None:
    """Check the ends that lie on a mount, or those that do not."""
    request: Request = plan.request
    if isinstance(request.source, MountLocation) is on_mount:
        context.source(plan).check(writing=False)
    if isinstance(request.destination, MountLocation) is on_mount:
        made_later = request.mode is Mode.PLAN and on_mount  # a copy would make it
        if not made_later:
            context.destination(plan).check(writing=request.mode.writes)
