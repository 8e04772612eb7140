"""The error of a run whose version is whole and was not published."""

from __future__ import annotations

from fanout.books.summary_document import Published
from fanout.ledger import keys
from fanout.ledger.documents import Notes
from fanout.ledger.ledger import Ledger
from fanout.model.errors import INFRASTRUCTURE, RunError
from fanout.request.plan import Plan


def not_published(plan: Plan, published: Published | None, ledger: Ledger) -> RunError | None:
    """The error, with the reason that the run noted; ``None`` if it published, or was not to."""
    if published is not None or not (plan.request.course.writes and plan.version):
        return None
    notes = ledger.find(keys.note_key(keys.PUBLISH), Notes)
    why = "; ".join(notes.notes) if notes else "PublishVersion did not end"
    return RunError(INFRASTRUCTURE, f"{plan.destination} was not published: {why}; then retry the run")
