"""The rounds of a listing, as GatherSegments closed them.

Each record says how many segments it left to the next round, so a reader knows which record is the last one. Ledgers
expire in no order: a round without its record, where something later is there, is ``LedgerBroken``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import segment_from_row
from fanout.model.document import Json
from fanout.model.segment import Segment

_ROUND = re.compile(r"segments/round-(\d+)")
# What only is there after the last round was closed.
_AFTERWARDS = (keys.phase_key("partition"), keys.LINKS, keys.BIG_FILES, keys.SHARDS)


def rounds_done(ledger: Ledger) -> Iterator[Json]:
    """What every closed round of the listing found, in order; the listing may have broken off after them.

    Raises ``LedgerBroken`` for a record that is missing or not whole.
    """
    number = 1
    while (done := ledger.find_json(keys.round_done_key(number))) is not None:
        with ledger.decoding(keys.round_done_key(number)):
            msgspec.convert(done, _Round)
        yield done
        if not segments_left(done, number, ledger):
            return
        number += 1
    _check_not_closed(number, ledger)


def whole_listing(ledger: Ledger) -> Iterator[Json]:
    """The same of a listing that must have come to its end. Raises ``LedgerBroken`` if it did not."""
    number = left = 0
    for number, done in enumerate(rounds_done(ledger), start=1):
        left = segments_left(done, number, ledger)
        yield done
    if left or not number:
        raise ledger.broken(keys.round_done_key(number + 1), "is missing")


def segments_left(done: Json, number: int, ledger: Ledger) -> int:
    """How many segments a round left to the next one; its record says it, but for one of an earlier version."""
    left: int | None = done.get("left")
    return int(ledger.has(keys.round_key(number + 1))) if left is None else left


def read_round(number: int, left: int, ledger: Ledger) -> list[Segment]:
    """The segments of a round, which are those that the one before ``left``; of the first one that is not known.

    Raises ``LedgerBroken`` if they are not there, or are others.
    """
    segments = ledger.read_list(keys.round_key(number), segment_from_row)
    if not segments or len(segments) != (left or len(segments)):
        raise ledger.broken(keys.round_key(number), f"holds {len(segments)} segments, not {left or 'any'}")
    return segments


def segment_record(segment_id: str, ledger: Ledger) -> Json:
    """The record of a segment that has been listed. Raises ``LedgerBroken`` if it is missing or not whole."""
    return ledger.read_as(keys.segment_key(segment_id), as_segment_record)


def as_segment_record(record: Any) -> Json:
    """A record with all that its readers ask for. Raises ``ValidationError``."""
    msgspec.convert(record, _Segment)
    found: Json = record
    return found


def check_held(named: Iterable[str], prefix: str, ledger: Ledger) -> None:
    """Raise ``LedgerBroken`` if an object below a prefix that the ledger names is not there; asks for a listing."""
    missing = set(named)
    if missing:
        missing.difference_update(ledger.keys(prefix))
    if missing:
        raise ledger.broken(min(missing), "is missing")


def _check_not_closed(number: int, ledger: Ledger) -> None:
    """Raise ``LedgerBroken`` if a round that has no record must have had one."""
    later = (key for key in ledger.keys("segments/round-") if (found := _ROUND.match(key)) and int(found[1]) > number)
    shown_by = next(later, None) or next((key for key in _AFTERWARDS if ledger.has(key)), None)
    if shown_by:
        raise ledger.broken(keys.round_done_key(number), f"is missing, but {shown_by} is there")


class _Count(Struct):
    entries: int
    bytes: int


class _Shard(Struct):
    id: str
    key: str
    entries: int
    bytes: int
    seconds: float


class _BigFile(Struct):
    id: str
    bytes: int


class _Both(Struct):
    """What the records of a segment and of a round both hold, as far as readers ask for it."""

    complete: bool
    listed: _Count
    sizes: Json
    outcomes: dict[str, _Count]
    outcome_files: list[str]
    shards: list[_Shard]
    big_files: list[_BigFile]
    names: list[_Shard]
    destination: _Count
    deletions: list[Json]


class _Round(_Both):
    loose: list[_Shard]
    extras: list[str]


class _Segment(_Both):
    loose: _Shard | None
    extras: str | None
    left: list[Json]
