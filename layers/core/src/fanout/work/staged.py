"""Which directory a run stages in at each end: noted by CheckMount, and read by every function that stages there.

A name proves nothing: who may write to an end's root can rename the directory, and put one of his own in its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.errors import InvalidRequest
from fanout.model.file_system import Staged
from fanout.ports.tree import ReadTree

_KEYS = {"source": keys.SOURCE_STAGED, "destination": keys.STAGED}


def note_staged(written: Mapping[str, ReadTree], ledger: Ledger) -> None:
    """Note the staging directories of the ends by their fields, as the check of these trees made them."""
    for field, tree in written.items():
        staged = tree.file_system.staged() if tree.file_system is not None else None
        if staged is not None and ledger.whole_run().find(_KEYS[field]) != staged:
            ledger.whole_run().write(_KEYS[field], staged)


def recall_staged(field: str, tree: ReadTree, ledger: Ledger) -> None:
    """Have a tree stage in the directory that the run has noted for its end."""
    if tree.file_system is not None:
        tree.file_system.recall(lambda: ledger.whole_run().find(_KEYS[field]))


def made_by(run_id: str, ledger: Ledger) -> Collection[Staged]:
    """The staging directories that the ledger of a run says it made; nothing where that has expired."""
    try:
        other = ledger.of_run(run_id)
    except InvalidRequest:  # no run has such a name
        return ()
    return [found for key in _KEYS.values() if (found := other.find(key)) is not None]
