"""Counts entries of whose metadata something was not read, with examples, each once whatever number of attempts.

Whoever applies ``Allowed.of`` hands on what it left out: by an outcome's ``unread``, or here for a big file, whose
attributes no outcome of a shard has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.documents import Range, indexes_of, ranges_of
from fanout.ledger.ledger import Ledger
from fanout.model.entry_outcome import Outcome
from fanout.model.outcome import Result
from fanout.model.shard import BigFile

# Chosen: examples that a note shows.
EXAMPLES = 5
_NO_SHARD = ""


class UnreadEntries(Struct, frozen=True):
    """Entries of a shard of which the same is to be said, and examples."""

    what: str
    ranges: list[Range]
    examples: list[str]


class UnreadFile(Struct, frozen=True):
    """The findings of one attempt at a shard."""

    found: list[UnreadEntries]


def write_unread(shard_id: str, name: str, outcomes: Mapping[int, Outcome], ledger: Ledger) -> None:
    """Write what the outcomes of a shard's entries say; nothing where they say nothing."""
    indexes: defaultdict[str, list[int]] = defaultdict(list)
    for index, outcome in outcomes.items():
        for what, _ in outcome.unread:
            indexes[what].append(index)
    if indexes:
        found = [
            UnreadEntries(what, ranges_of(some), [_example(what, outcomes[index]) for index in sorted(some)[:EXAMPLES]])
            for what, some in indexes.items()
        ]
        ledger.write(_key(shard_id, name), UnreadFile(found))


def write_unread_of_big_file(big: BigFile, name: str, said: Mapping[str, str], ledger: Ledger) -> None:
    """Write what is said about a big file's source, as ``Outcome.unread`` holds it; nothing for nothing."""
    if said:
        outcome = replace(Outcome.done(big.entry, Result.COPIED), unread=tuple(said.items()))
        write_unread(big.id, name, {0: outcome}, ledger)


def indexes_said(what: str, shard_id: str, name: str, ledger: Ledger) -> frozenset[int]:
    """The entries of a shard of which one attempt said something."""
    file = ledger.find(_key(shard_id, name), UnreadFile)
    ranges = [] if file is None else [one for said in file.found if said.what == what for one in said.ranges]
    return frozenset(indexes_of(ranges))


def unread_notes(ledger: Ledger, only: str = "", more: Iterable[Outcome] = ()) -> list[str]:
    """A note for each finding, or for one alone: how many entries, and examples.

    ``more`` are outcomes whose findings no file has.
    """
    entries: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    examples: defaultdict[str, list[str]] = defaultdict(list)
    for key in ledger.keys(keys.UNREAD):
        shard_id = key.split("/")[1]
        for one in ledger.read(key, UnreadFile).found:
            entries[one.what][shard_id] |= indexes_of(one.ranges)
            examples[one.what] = sorted({*examples[one.what], *one.examples})[:EXAMPLES]
    for index, outcome in enumerate(more):
        for what, _ in outcome.unread:
            entries[what][_NO_SHARD].add(index)
            examples[what] = sorted({*examples[what], _example(what, outcome)})[:EXAMPLES]
    return [
        f"{what}: {sum(map(len, entries[what].values())):,}, for example {'; '.join(examples[what])}"
        for what in sorted(entries)
        if only in ("", what)
    ]


def _key(shard_id: str, name: str) -> str:
    return f"{keys.UNREAD}{shard_id}/{name}.json"


def _example(what: str, outcome: Outcome) -> str:
    return f"{outcome.path} ({dict(outcome.unread)[what]})"
