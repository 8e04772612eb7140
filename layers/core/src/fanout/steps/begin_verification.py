"""BeginVerification: plans the comparison of both trees after a copy, as a listing of its own."""

from __future__ import annotations

from dataclasses import replace

from fanout.domain import ledger_keys as keys
from fanout.domain.request import Mode, Verify
from fanout.domain.rows import Json, segment_row
from fanout.domain.segments import Segment
from fanout.steps.context import Context
from fanout.steps.plan_transfer import list_reference, run_reference


def begin_verification(context: Context, bucket: str) -> Json:
    """Write plan and round 1 of the verification below the run's ledger; returns the references to them."""
    plan = context.ledger.read_plan()
    request = replace(plan.request, mode=Mode.VERIFY, verify=Verify.NONE)
    inner = replace(context, ledger=context.ledger.verification())
    inner_plan = replace(plan, request=request)
    inner.ledger.write_plan(inner_plan)
    inner.ledger.write_json(keys.round_key(1), [segment_row(Segment("0001-000000"))])
    context.begin("verify")
    return {
        "run": run_reference(inner_plan, inner.ledger, bucket),
        "list": list_reference(inner, 1, 1),
    }
