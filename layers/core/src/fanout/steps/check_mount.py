"""CheckMount: the ends as the functions that copy will see them."""

from __future__ import annotations

from fanout.domain.ledger_keys import note_key
from fanout.domain.locations import MountLocation
from fanout.domain.rows import Json
from fanout.steps.context import Context
from fanout.steps.plan_transfer import check_ends


def check_mount(context: Context) -> Json:
    """Check the mounted end, and that S3 answers from here too; note what the destination can not keep.

    Raises ``InvalidRequest`` or ``AccessDenied`` that names the end and the remedy.
    """
    plan = context.ledger.read_plan()
    check_ends(plan, context, on_mount=True)
    check_ends(plan, context, on_mount=False)
    tries = plan.request.mode.writes and isinstance(plan.request.destination, MountLocation)
    notes = context.destination(plan).limitations() if tries else ()
    if notes:
        context.ledger.write_json(note_key("check"), list(notes))
    context.begin("list")
    return {}
