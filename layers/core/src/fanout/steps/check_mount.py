"""CheckMount: the ends as the functions that copy will see them."""

from __future__ import annotations

from fanout.domain.ledger_keys import note_key
from fanout.domain.locations import MountLocation
from fanout.domain.plan import Plan
from fanout.domain.request import Mode
from fanout.domain.rows import Json
from fanout.steps.context import Context
from fanout.steps.plan_transfer import check_ends
from fanout.steps.verify_rules import note_owners, recall_owners


def check_mount(context: Context) -> Json:
    """Check the mounted end, and that S3 answers from here too; note what the destination can not keep.

    Raises ``InvalidRequest`` or ``AccessDenied`` that names the end and the remedy.
    """
    plan = context.ledger.read_plan()
    check_ends(plan, context, on_mount=True)
    check_ends(plan, context, on_mount=False)
    if isinstance(plan.request.destination, MountLocation):
        if plan.request.mode.writes:
            _try_destination(plan, context)
        elif plan.request.mode is Mode.VERIFY:
            recall_owners(plan, context.ledger)
    context.begin("list")
    return {}


def _try_destination(plan: Plan, context: Context) -> None:
    notes = context.destination(plan).limitations()
    if notes is None:
        return  # the function on the other side tries
    note_owners(notes, plan, context.ledger)
    if notes:
        context.ledger.write_json(note_key("check"), list(notes))
