"""BeginDeletion: what a sync deletes, decided again when everything is copied, or what a move has proven."""

from __future__ import annotations

from fanout.books.run_books import run_books
from fanout.deleting.deletions import DELETED_DIRECTORIES, Deletions, ListedExtras, listed_extras
from fanout.deleting.moves import proven_entries, refused_move
from fanout.deleting.not_copied import NotCopied
from fanout.finishing.unset_directories import directories_failed
from fanout.ledger import keys
from fanout.model.document import Json
from fanout.model.outcome import TROUBLE
from fanout.model.shard import Deletion
from fanout.request.plan import Plan
from fanout.work.context import Context


def begin_deletion(context: Context) -> Json:
    """Find what may be deleted, and write deletions.json.

    Nothing of a sync is deleted, and a note says why, where a single entry was not copied: what it was to replace
    may be what is extra. Returns the key, the number of shards of files, and how many run at once. Raises
    ``DeleteRefused`` for a move over its guard.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    deletions, note = _of_move(plan, context) if plan.moves else _of_sync(plan, context)
    if note:
        ledger.whole_run().note("delete", [note])
    ledger.write(DELETED_DIRECTORIES, Deletions([one for one in deletions if one.directories]))
    files = [one.shard for one in deletions if not one.directories]
    ledger.write_items(keys.DELETIONS, files, lambda shard: Deletion(shard, directories=False))
    ledger.whole_run().begin("delete", context.clock.now())
    return {
        "count": len(files),
        "key": ledger.prefix + keys.DELETIONS,
        "max_concurrency": min(plan.request.limits.max_concurrency, max(1, len(files))),
    }


def _of_move(plan: Plan, context: Context) -> tuple[list[Deletion], str]:
    """The shards to delete at the source, and why there are none."""
    not_copied = NotCopied()
    problem = refused_move(context.ledger, not_copied)
    if problem:
        return [], f"nothing was deleted at the source: {problem}"
    return proven_entries(plan, context, not_copied), ""


def _of_sync(plan: Plan, context: Context) -> tuple[list[Deletion], str]:
    """The shards to delete at the destination, and why there are none."""
    extras = listed_extras(context.ledger, plan.request)
    problem = _problem(plan, extras, context)
    if not problem:
        return extras.deletions, ""
    return [], f"none of {extras.extra.entries:,} entries that are not at the source was deleted: {problem}"


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
