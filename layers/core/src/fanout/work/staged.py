"""Which directory a run stages in at each end: noted by CheckMount, and read by every function that stages there.

A name proves nothing: who may write to an end's root can rename the directory, and put one of his own in its place.
"""

from __future__ import annotations

from collections.abc import Collection

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import Staged
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.request.request import is_fenced
from fanout.work.context import Context

_KEYS = {"source": keys.SOURCE_STAGED, "destination": keys.STAGED}


def note_staged(plan: Plan, context: Context) -> None:
    """Note the staging directories at the ends that this function sees and that the run writes."""
    ends = {"source": plan.request.source, "destination": plan.request.destination}
    for field, end in ends.items():
        if end not in plan.request.written_ends or not is_fenced(end):
            continue
        files = (context.source(plan) if field == "source" else context.destination(plan)).file_system
        staged = files.staged() if files is not None else None
        if staged is not None and context.ledger.whole_run().find(_KEYS[field], Staged) != staged:
            context.ledger.whole_run().write(_KEYS[field], staged)


def recall_staged(field: str, tree: Tree, ledger: Ledger) -> None:
    """Have a tree stage in the directory that the run has noted for its end."""
    if tree.file_system is not None:
        tree.file_system.recall(lambda: ledger.whole_run().find(_KEYS[field], Staged))


def made_by(run_id: str, ledger: Ledger) -> Collection[Staged]:
    """The staging directories that the ledger of a run says it made; nothing where that has expired."""
    try:
        other = ledger.of_run(run_id)
    except InvalidRequest:  # no run has such a name
        return ()
    return [found for key in _KEYS.values() if (found := other.find(key, Staged)) is not None]
