"""The refusals of PartitionShards before anything is copied; a run that only plans notes them instead."""

from __future__ import annotations

from collections.abc import Callable

from fanout.deleting.guard import empty_source
from fanout.deleting.moves import refuse_over_guard
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.errors import DeleteRefused
from fanout.model.outcome import Result
from fanout.partition.whole_tree import WholeTree
from fanout.request.parts.publish import INSIDE_VERSIONS
from fanout.request.plan import Plan


def refuse(plan: Plan, tree: WholeTree, ledger: Ledger) -> None:
    """Raise ``DeleteRefused`` for the first reason that there is, and note what people have to know before a copy."""
    for look in REFUSALS:
        look(plan, tree, ledger)


def _move_over_guard(plan: Plan, tree: WholeTree, _ledger: Ledger) -> None:
    if plan.request.course.deletes_proven:
        refuse_over_guard(plan, tree.to_move, "nothing was copied or deleted")


def _extras_over_guard(plan: Plan, tree: WholeTree, ledger: Ledger) -> None:
    if not plan.request.course.deletes_extras:
        return
    extras = tree.extras
    problem = extras.refusal(plan.request) or ("" if extras.found.source else empty_source(extras.found))
    if problem:
        raise DeleteRefused(f"{problem}; nothing was copied or deleted")
    if in_the_way := extras.found.extra - extras.extra.entries:
        ledger.note(
            "in-the-way", [f"{in_the_way:,} entries are of another kind than the source's; the sync replaces them"]
        )


def _published_stays(_plan: Plan, tree: WholeTree, ledger: Ledger) -> None:
    if tree.published.entries:
        ledger.note("published", [_published_note(tree.published)])


def _published_note(kept: Count) -> str:
    what = f"{kept.entries:,} entries ({kept.bytes:,} bytes) of published trees are not at the source"
    return f"{what}; a sync leaves them: each tree is failed under the name of its {INSIDE_VERSIONS}"


def _empty_version(plan: Plan, tree: WholeTree, ledger: Ledger) -> None:
    """Readers of the link would find nothing; a plan only notes it."""
    if plan.request.publish is None or plan.request.course.compares or tree.entries_but({Result.SKIPPED}):
        return
    scope = "" if plan.request.filters.take_all else " that the filters take"
    problem = f"the source holds nothing{scope}; an empty version is never published"
    if not plan.request.course.plans:
        raise DeleteRefused(f"{problem}; nothing was copied, and the link is as it was")
    ledger.note("publish-nothing", [f"a copy would be refused: {problem}"])


# The order is a contract: the first one that refuses is the error of the run.
REFUSALS: tuple[Callable[[Plan, WholeTree, Ledger], None], ...] = (
    _move_over_guard,
    _extras_over_guard,
    _published_stays,
    _empty_version,
)
