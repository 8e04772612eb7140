"""Which entries to copy lie in an archive: one look at each whose storage class may have to be restored.

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
from fanout.ports.aws import ObjectArchive

_COPIED = (Decision.COPY, Decision.COMPARE)


def looked_at(entry: Entry, archive: ObjectArchive) -> Entry:
    """The entry with the archive that it lies in; without one where its copy has to say what is wrong with it."""
    try:
        return replace(entry, archive=archive.look(entry).archive)
    except ItemError:
        return replace(entry, archive="")


def with_archives(ask: Callable[[Pair], Pair | Question], archive: ObjectArchive) -> Callable[[Pair], Pair | Question]:
    """``ask`` of a listing whose entries to copy are looked at, if their storage class says so."""

    def look(answer: Pair) -> Pair:
        if answer.source.archive and answer.decision in _COPIED:
            return replace(answer, source=looked_at(answer.source, archive))
        return answer

    def asked(pair: Pair) -> Pair | Question:
        answer = ask(pair)
        if not isinstance(answer, Pair):
            return lambda: look(answer())
        return partial(look, answer) if answer.source.archive and answer.decision in _COPIED else answer

    return asked
