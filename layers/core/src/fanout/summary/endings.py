"""How a run ended: the first of ``ENDINGS`` that answers is its error."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fanout.books.ending import Ending
from fanout.books.summary_document import Status
from fanout.deleting import deletions
from fanout.model.errors import INFRASTRUCTURE, RunError
from fanout.publishing import publish_version
from fanout.shards.finished_tree import was_finished
from fanout.summary.run_facts import RunFacts


def ending_of(facts: RunFacts) -> Ending:
    """How the run ended, before a certificate is issued; all failures are written by then."""
    books, whole = facts.whole_books, facts.books.complete
    ending = Ending(books, whole, facts.failures.count, facts.error, facts.planned, facts.verified)
    for each in ENDINGS:
        if ending.status is Status.SUCCEEDED:
            ending = replace(ending, error=each(facts))
    return ending


def _not_finished(facts: RunFacts) -> RunError | None:
    if not facts.plan.request.course.copies or was_finished(facts.plan, facts.ledger):
        return None
    return RunError(INFRASTRUCTURE, "FinishTree did not finish all that was copied: retry")


def _not_removed(facts: RunFacts) -> RunError | None:
    return deletions.not_removed(facts.ledger)


def _not_published(facts: RunFacts) -> RunError | None:
    return publish_version.not_published(facts.plan, facts.published, facts.ledger)


def _not_moved(facts: RunFacts) -> RunError | None:
    proven = facts.verified.compared if facts.verified else None
    return deletions.not_moved(facts.plan, facts.deleted, proven)


# The order is a contract. A run that broke off, or has failures, is not asked whether it brought about its purpose.
ENDINGS: tuple[Callable[[RunFacts], RunError | None], ...] = (_not_finished, _not_removed, _not_published, _not_moved)
