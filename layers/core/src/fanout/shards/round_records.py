"""The rounds of a listing, as GatherSegments closed them.

Each record says how many segments it left to the next round, so a reader knows which record is the last one. Ledgers
expire in no order: a round without its record, where something later is there, is ``LedgerBroken``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.outcome import Result
from fanout.model.path_rules import PlainName
from fanout.model.segment import Segment
from fanout.model.shard import Deletion, Shard

_ROUND = re.compile(r"segments/round-(\d+)")
# A record that exists only after the last round was closed. What else PartitionShards writes may be sent before.
_AFTERWARDS = keys.SHARDS


class ListedBigFile(Struct, frozen=True):
    """A big file that a listing began, and its bytes."""

    id: PlainName
    bytes: int


class IndexFile(Struct, frozen=True, omit_defaults=True):
    """A file of an index, and the first and the last path that it holds; ``marks`` are some of those between."""

    key: str
    first: str
    last: str
    marks: list[str] = field(default_factory=list)


class ListingResults(Struct, frozen=True, kw_only=True):
    """A listing's results: the totals, and the ledger's files that hold the rest.

    ``sizes`` and ``crowds`` are rows of ``Sizes`` and ``Crowds``, ``loose`` shards that may be joined with others.
    ``in_scope`` and ``destination`` are what the delete guard counts at the two ends, ``in_the_way`` what stands there
    for another kind of the source's entry, ``published`` what a sync leaves
    of published trees, ``heads`` the requests that looked at what seemed unchanged, ``matched`` the globs that matched
    an entry, as ``exclude.0``, or ``None`` where none was looked at.
    """

    complete: bool
    listed: Count
    sizes: dict[str, list[int]]
    crowds: dict[str, int]
    outcomes: dict[Result, Count]
    outcome_files: list[str]
    shards: list[Shard]
    loose: list[Shard]
    big_files: list[ListedBigFile]
    index: list[IndexFile]
    extras: list[str]
    in_scope: Count
    destination: Count
    in_the_way: Count = Count()
    published: Count = Count()
    directories: list[str]
    deletions: list[Deletion]
    names: list[Shard]
    heads: int
    matched: list[str] | None = []
    seconds: float


class SegmentRecord(ListingResults, frozen=True, kw_only=True):
    """The results of one ListSegment, and the segments that it left."""

    segment: Segment
    to_copy: Count
    left: list[Segment]


segment_key = ObjectKind(keys.SEGMENTS_DONE + "{segment_id}.json", SegmentRecord, by=("ListSegment",), waits=True)


class RoundRecord(ListingResults, frozen=True, kw_only=True):
    """The results of a round of ``segments``, and how many segments it ``left`` to the next one."""

    segments: int
    left: int


round_done_key = ObjectKind("segments/round-{number:04d}-done.json", RoundRecord, by=("GatherSegments",), waits=True)


def rounds_done(ledger: Ledger) -> Iterator[RoundRecord]:
    """Read the results of every closed round, in order; the listing may have ended early after them.

    Raises ``LedgerBroken`` for a record that is missing or not whole.
    """
    number = 1
    while (done := ledger.find(round_done_key(number))) is not None:
        yield done
        if not done.left:
            return
        number += 1
    _check_not_closed(number, ledger)


def whole_listing(ledger: Ledger) -> Iterator[RoundRecord]:
    """Read the results of a complete listing. Raises ``LedgerBroken`` if it is not complete."""
    number, left = 0, 1
    for done in rounds_done(ledger):
        number, left = number + 1, done.left
        yield done
    if left:
        raise ledger.broken(round_done_key(number + 1), "is missing")


def read_round(number: int, left: int, ledger: Ledger) -> list[Segment]:
    """The segments of a round, which are those that the one before ``left``; of the first one that is not known.

    Raises ``LedgerBroken`` if they are not there, or are others.
    """
    segments = ledger.read(keys.round_key(number))
    if not segments or len(segments) != (left or len(segments)):
        raise ledger.broken(keys.round_key(number), f"holds {len(segments)} segments, not {left or 'any'}")
    return segments


def round_of(segment_id: str) -> int:
    """The round that named a segment, by its id; 0 for an id of none."""
    number, _, index = segment_id.partition("-")
    return int(number) if number.isdecimal() and number.isascii() and index else 0


def segment_record(segment_id: str, ledger: Ledger) -> SegmentRecord:
    """The record of a segment that has been listed. Raises ``LedgerBroken`` if it is missing or not whole."""
    return ledger.read(segment_key(segment_id))


def write_segment_record(record: SegmentRecord, ledger: Ledger) -> None:
    """Write the record of a segment, unless another attempt has: whoever reads it finds the same one each time.

    What an attempt listed whose record is not the one that counts is not part of the run.
    """
    ledger.write_new(segment_key(record.segment.id), record)


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
    shown_by = next(later, None) or (_AFTERWARDS if ledger.has(_AFTERWARDS) else None)
    if shown_by:
        raise ledger.broken(round_done_key(number), f"is missing, but {shown_by} is there")
