"""The attributes that a verification compares, and those that it cannot compare, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from fanout.facts.holdings import TAGS, Fate, rows_with
from fanout.ledger.ledger import Ledger
from fanout.model.entry_outcome import EntryFinding
from fanout.model.outcome import Result
from fanout.request.object_options import metadata_headers
from fanout.request.parts.given_attributes import Mtime
from fanout.request.parts.limits import OnNotHoldable
from fanout.request.plan import Plan, compares_attributes
from fanout.verifying.differences import Rules
from fanout.verifying.tags import MovedTags, Tagged
from fanout.work.context import Context
from fanout.work.mount_owners import owner_limitation

if TYPE_CHECKING:
    from fanout.verifying.verifier import ComparedEntry


class NotCompared(Struct, frozen=True):
    """An omission of the comparison, the reason in a sentence, and the number of entries.

    ``None`` for the whole tree.
    """

    what: str
    why: str
    entries: int | None


def rules_of(plan: Plan, ledger: Ledger) -> Rules | None:
    """The rules for attributes; ``None`` where they do not matter.

    A move compares owners also where the destination keeps none, unless the request allows that they go.
    """
    content = not compares_attributes(plan)
    if content and not plan.proves_move:
        return None
    allows = content or plan.request.on_not_holdable is OnNotHoldable.ALLOW
    return Rules(
        (plan.proves_move and not allows) or not owner_limitation(ledger),
        plan.direction,
        metadata_headers(plan.request.objects),
        plan.request.attributes.mtime is not Mtime.NOW,
        directory_times=not plan.moves,
        deletes=plan.proves_move,
        keeps_links=plan.keeps_hard_links,
        allows=allows,
        content=content,
    )


def compares_tags(plan: Plan) -> bool:
    """Whether a move compares tags; not where nothing is deleted, or the source has none, or they may go."""
    request = plan.request
    lets_go = request.on_not_holdable is OnNotHoldable.ALLOW and not request.inside_s3
    return plan.proves_move and compares_attributes(plan) and request.source.is_keyed and not lets_go


def tags_of(plan: Plan, context: Context) -> MovedTags | None:
    """The comparison of tags in a move; ``None`` where ``compares_tags`` is false."""
    request = plan.request
    if not compares_tags(plan):
        return None
    source, destination = context.source(plan), context.destination(plan) if request.inside_s3 else None
    return MovedTags(cast("Tagged", source), cast("Tagged", destination), request.objects.tags)


def _is_held(one: ComparedEntry) -> bool:
    reason = one.outcome.reason
    return reason is not None and reason.is_held and one.outcome.result is Result.SKIPPED


# The findings of a comparison, and of which entry; ``not_compared`` says how many.
FINDINGS: Mapping[EntryFinding, Callable[[ComparedEntry], bool]] = {
    EntryFinding.NOT_TOLD: lambda one: not one.is_told_whole,
    EntryFinding.HELD: _is_held,
}


def not_compared(
    plan: Plan, ledger: Ledger, findings: Mapping[EntryFinding, int], names_of_big_files: int
) -> list[NotCompared]:
    """The omissions of a verification of both trees.

    Each has its reason and, if it is about single entries, their number: ``findings`` counts entries of the records
    and big files, ``names_of_big_files`` names of files with several that were compared in blocks.
    """
    found: list[NotCompared] = []
    not_told = findings.get(EntryFinding.NOT_TOLD, 0)
    if held := findings.get(EntryFinding.HELD, 0):
        found.append(NotCompared(*plan.request.held.not_compared, held))
    if not compares_attributes(plan):
        found.append(NotCompared("attributes and metadata", "verify: content compares names and bytes alone", None))
        return found
    found += _by_table(plan)
    limitation = owner_limitation(ledger)
    if limitation and (not plan.moves or plan.request.on_not_holdable is OnNotHoldable.ALLOW):
        found.append(NotCompared("owners", limitation, None))
    if plan.request.attributes.mtime is Mtime.NOW:
        found.append(NotCompared("mtime", "attributes.mtime: now gives copies a time that no object tells", None))
    if plan.moves and not plan.request.inside_s3:
        why = "whatever comes into a directory, or is moved out of it, moves its mtime"
        found.append(NotCompared("mtime of directories", why, None))
    kind = plan.kind_of(plan.request.destination)
    if kind is not None and plan.request.on_mounts and not plan.keeps_hard_links:
        found.append(NotCompared("hard links", f"{kind.name} has none: each name is a file of its own", None))
    if names_of_big_files and plan.keeps_hard_links:
        why = "a file over 8 GiB is compared in blocks, each name by itself"
        found.append(NotCompared("hard links", why, names_of_big_files))
    if not_told:
        why = "the object's metadata does not hold all of mode, owner and mtime"
        found.append(NotCompared("attributes", why, not_told))
    return found


def _by_table(plan: Plan) -> Iterator[NotCompared]:
    """The rows of ``facts.holdings`` that no comparison of this direction looks at."""
    allows = plan.request.on_not_holdable is OnNotHoldable.ALLOW
    proves = plan.proves_move and not allows
    for fate in (Fate.CARRIED, Fate.NOT_HOLDABLE, Fate.STORE, Fate.UNSEEN):
        rows = rows_with(fate, plan.direction)
        if plan.proves_move and plan.request.inside_s3:
            rows = [row for row in rows if row != TAGS]
        if rows and not (proves and fate is Fate.NOT_HOLDABLE):
            yield NotCompared(", ".join(rows), fate.value, None)
