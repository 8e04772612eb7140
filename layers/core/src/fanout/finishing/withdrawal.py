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
    context.ledger.mark(keys.FINISHED)
    files = context.destination(plan).file_system
    left = files.finish() if files is not None else ()
    if left:
        context.ledger.note("finish", left)
    context.ledger.mark(keys.WITHDRAWN)


def is_finished(ledger: Ledger) -> bool:
    """Whether all that the run writes to the destination is there."""
    return ledger.is_marked(keys.FINISHED)


def owes_nothing(plan: Plan, ledger: Ledger) -> bool:
    """Whether the next run need not fence this one, nor those that this one was to fence."""
    marks = (keys.FENCED, keys.WITHDRAWN)
    return not is_fenced(plan.request) or all(ledger.is_marked(key) for key in marks)
