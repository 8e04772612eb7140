"""Which entries to copy are held: one look at each whose listing says that it may be.

A listing cannot tell that an object of INTELLIGENT_TIERING is in an archive tier, nor without a further header what is
restored already or on its way; a HEAD tells all three. It costs under 1% of a restore request, and only where the run
restores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from fanout.listing.deciding.decisions import Decision
from fanout.listing.lookups import Pair, Question
from fanout.model.entry import Entry
from fanout.model.errors import ItemError
from fanout.request.plan import Plan
from fanout.work.context import Context

_COPIED = (Decision.COPY, Decision.COMPARE)


def look_at_held(plan: Plan, context: Context) -> Callable[[Entry], Entry] | None:
    """Gives an entry with what holds it, and without where its copy has to say what is wrong with it.

    ``None`` in a run that brings nothing back.
    """
    archive = context.archive(plan)
    if archive is None:
        return None

    def look(entry: Entry) -> Entry:
        try:
            return replace(entry, held=archive.look(entry).archive)
        except ItemError:
            return replace(entry, held="")

    return look


def with_looks(
    ask: Callable[[Pair], Pair | Question], look: Callable[[Entry], Entry]
) -> Callable[[Pair], Pair | Question]:
    """``ask`` of a listing whose entries to copy are looked at, where they may be held."""

    def looked_at(answer: Pair) -> Pair:
        if answer.source.held and answer.decision in _COPIED:
            return replace(answer, source=look(answer.source))
        return answer

    def asked(pair: Pair) -> Pair | Question:
        answer = ask(pair)
        if not isinstance(answer, Pair):
            return lambda: looked_at(answer())
        return partial(looked_at, answer) if answer.source.held and answer.decision in _COPIED else answer

    return asked
