"""Entries to copy that may lie in an archive are looked at, see ``restoring.look``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from fanout.listing.deciding.decisions import Decision
from fanout.listing.lookups import Pair, Question
from fanout.ports.aws import ObjectArchive
from fanout.restoring.look import looked_at

_COPIED = (Decision.COPY, Decision.COMPARE)


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
