"""The end of a run at its destination: what it staged goes, and with it the run's right to write."""

from __future__ import annotations

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.request.plan import Plan
from fanout.request.request import is_fenced
from fanout.work.context import Context


def withdraw(plan: Plan, context: Context) -> None:
    """Remove the run's staging directory, for the last state that writes to the destination.

    Noted before, so that an attempt that comes after finds nothing left to write, and after, for SummariseTransfer.
    """
    context.ledger.write_json(keys.FINISHED, {})
    left = context.destination(plan).finish()
    if left:
        context.ledger.write_json(keys.note_key("finish"), list(left))
    context.ledger.write_json(keys.WITHDRAWN, {})


def is_finished(ledger: Ledger) -> bool:
    """Whether all that the run writes to the destination is there."""
    return ledger.find_json(keys.FINISHED) is not None


def owes_nothing(plan: Plan, ledger: Ledger) -> bool:
    """Whether the next run need not fence this one, nor those that this one was to fence."""
    marks = (keys.FENCED, keys.WITHDRAWN)
    return not is_fenced(plan.request) or all(ledger.find_json(key) is not None for key in marks)
