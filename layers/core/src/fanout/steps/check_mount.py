"""CheckMount: the ends as the functions that copy will see them."""

from __future__ import annotations

from fanout.domain.ledger_keys import note_key
from fanout.domain.locations import MountLocation
from fanout.domain.plan import Plan
from fanout.domain.request import Mode
from fanout.domain.rows import Json
from fanout.steps.clocks import measure_clocks
from fanout.steps.context import Context
from fanout.steps.missing_at_source import note_source_root
from fanout.steps.plan_transfer import check_ends
from fanout.steps.verify_rules import note_owners, recall_owners


def check_mount(context: Context) -> Json:
    """Check the mounted end, and that S3 answers from here too; note what the destination cannot keep
    and how far the clocks of S3 and of a destination on a mount differ.

    Raises ``InvalidRequest`` or ``AccessDenied`` that names the end and the remedy.
    """
    plan = context.ledger.read_plan()
    check_ends(plan, context, on_mount=True)
    check_ends(plan, context, on_mount=False)
    if plan.request.mode is Mode.SYNC:
        note_source_root(context.source(plan), context.ledger)
    notes = (*_try_destination(plan, context), *measure_clocks(plan, context))
    if notes:
        context.ledger.write_json(note_key("check"), list(notes))
    context.begin("list")
    return {}


def _try_destination(plan: Plan, context: Context) -> tuple[str, ...]:
    """Note whether the destination keeps owners; returns what it cannot keep, a sentence each."""
    if not isinstance(plan.request.destination, MountLocation):
        return ()
    if not plan.request.mode.writes:
        if plan.request.mode is Mode.VERIFY:
            recall_owners(plan, context.ledger)
        return ()
    limitations = context.destination(plan).limitations()
    if limitations is None:
        return ()  # the function on the other side tries
    note_owners(limitations, plan, context.ledger)
    return limitations
