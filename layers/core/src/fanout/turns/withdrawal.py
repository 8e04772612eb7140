"""The end of a run at its destination: what it staged goes, and with it the run's right to write.

An attempt that finds its right gone asks here whether another attempt ended the run's work. The answer is the store's
at that moment: a function that keeps its ledger listed it before the other attempt wrote.
"""

from __future__ import annotations

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import Superseded
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.request.request import is_fenced
from fanout.work.context import Context


def withdraw(plan: Plan, context: Context) -> None:
    """Remove the run's staging directory, for the last state that writes to the destination.

    Noted before, so that an attempt that comes after begins nothing, and after, for SummariseTransfer.
    """
    context.ledger.mark(keys.WITHDRAWING)
    files = context.destination_files(plan)
    left = files.finish() if files is not None else ()
    if left:
        context.ledger.note("finish", left)
    context.ledger.mark(keys.WITHDRAWN)


def clear(tree: ReadTree, error: Superseded) -> None:
    """Remove what a run staged in a tree, for the last state that writes, if a place of the run was swapped.

    Nothing is noted, so no other attempt takes the work for done. Where a later run took the right to write, it removed
    what was staged; and an attempt that only came late leaves it to those at work.
    """
    if error.swapped and tree.file_system is not None:
        tree.file_system.finish()


def withdraw_from_source(plan: Plan, context: Context) -> None:
    """Remove the staging directory of a move at its source, for the last state that deletes there; noted as above.

    A function that does not see the source leaves the directory to the next run.
    """
    ledger = context.ledger.whole_run()
    ledger.mark(keys.SOURCE_WITHDRAWING)
    files = context.source_files(plan)
    left = files.finish() if files is not None else ()
    if left:
        ledger.note("source", left)
    ledger.mark(keys.SOURCE_WITHDRAWN)


def has_left_source(ledger: Ledger) -> bool:
    """Whether a move has deleted at its source all that it will, by this attempt or another."""
    return ledger.whole_run().now().is_marked(keys.SOURCE_WITHDRAWING)


def had_left(ledger: Ledger) -> bool:
    """The same of the destination as the ledger was when it was first read: false only repeats what is done."""
    return ledger.is_marked(keys.WITHDRAWING)


def has_left(ledger: Ledger) -> bool:
    """Whether the run gives up its right to write to the destination, by this attempt or another.

    It says nothing of what is done: of that the mark of FinishTree does (``shards.finished_tree``).
    """
    return ledger.now().is_marked(keys.WITHDRAWING)


def owes_nothing(plan: Plan, ledger: Ledger) -> bool:
    """Whether the next run need not fence this one, nor those that this one was to fence."""
    marks = {
        plan.request.destination: (keys.FENCED, keys.WITHDRAWN),
        plan.request.source: (keys.SOURCE_FENCED, keys.SOURCE_WITHDRAWN),
    }
    owed = [key for end in plan.request.written_ends if is_fenced(end) for key in marks[end]]
    return all(ledger.is_marked(key) for key in owed)
