"""BeginVerification: plans the comparison of both trees after a copy, with a separate listing."""

from __future__ import annotations

from msgspec.structs import replace

from fanout.ledger import keys
from fanout.listing.rounds import begin_round, list_concurrency
from fanout.model.document import Json
from fanout.model.segment import Segment
from fanout.request.course import Mode
from fanout.request.options import Verify
from fanout.request.plan import Plan
from fanout.work.context import Context
from fanout.work.reference import run_reference


def begin_verification(context: Context, bucket: str) -> Json:
    """Write the plan of the comparison, then its round 1, below the run's ledger; returns the references.

    With a manifest round 1 is that of the copy.
    """
    plan = context.ledger.read_plan()
    context = context.within(plan)
    inner = replace(context, ledger=context.ledger.verification())
    inner_plan = plan_to_compare(plan)
    inner.ledger.write_once(keys.PLAN, inner_plan, lambda known: known == inner_plan)
    pieces = [Segment("")]
    if plan.request.manifest is not None:
        pieces = context.ledger.read(keys.round_key(1))
    context.begin("verify")
    return {
        "run": run_reference(inner_plan, inner.ledger, bucket),
        "list": begin_round(inner, 1, pieces, list_concurrency(inner_plan)),
    }


def plan_to_compare(plan: Plan) -> Plan:
    """The plan of the comparison of both trees that a run is to be proven by; that of a run which only compares."""
    if plan.request.course.compares:
        return plan
    verify = Verify.CONTENT if plan.request.verify is Verify.CONTENT else Verify.NONE
    return replace(plan, request=replace(plan.request, mode=Mode.VERIFY, verify=verify))
