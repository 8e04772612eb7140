"""BeginDeletion: what a sync deletes, decided again when everything is copied."""

from __future__ import annotations

from fanout.books.run_books import run_books
from fanout.deleting.deletions import Deletions, ListedExtras, listed_extras
from fanout.finishing.finish_directories import directories_failed
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.outcome import TROUBLE
from fanout.request.plan import Plan
from fanout.work.context import Context


def begin_deletion(context: Context) -> Json:
    """Write deletions.json; returns its key, the number of shards of files, and how many run at once.

    Nothing is deleted, and a note says why, where a single entry was not copied: what it was to replace
    may be what is extra.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    extras = listed_extras(ledger, plan.request)
    problem = _problem(plan, extras, context)
    deletions = [] if problem else extras.deletions
    if problem:
        note = f"none of {extras.extra.entries:,} entries that are not at the source was deleted: {problem}"
        ledger.note("delete", [note])
    ledger.write(keys.DELETED_DIRECTORIES, Deletions([one for one in deletions if one.directories]))
    files = [one for one in deletions if not one.directories]
    ledger.write_documents(keys.DELETIONS, files)
    context.begin("delete")
    return {
        "count": len(files),
        "key": ledger.prefix + keys.DELETIONS,
        "max_concurrency": min(plan.request.limits.max_concurrency, max(1, len(files))),
    }


def _problem(plan: Plan, extras: ListedExtras, context: Context) -> str:
    found = run_books(context.ledger, None, lambda outcome, phase: None, "copy")
    if not found.books.balanced:
        return "the books do not balance"
    if not found.books.clean:
        troubled = sum(found.books.by_result[result].entries for result in TROUBLE)
        return f"{troubled:,} entries failed or were rejected"
    if directories_failed(context.ledger):
        return "the attributes of a directory could not be set"
    return extras.refusal(plan.request)
