"""A segment: the part of a tree that one ListSegment lists, as a range of paths."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.model.entry import Entry
from fanout.model.outcome import Reason
from fanout.model.path_rules import PlainNameOrNone

Prunes = Callable[[str], bool]


class Row(Struct, frozen=True):
    """A path below the source, or why there is none; ``entry`` is set where the row says all that a listing would.

    A ``subtree`` is a directory that an earlier run could not list. A row that ``may_be_missing`` is skipped where the
    source does not hold it. ``of_verification``, on a mount: the directories above get their times too, which writing
    below them changes; each of them is ``implied``, and nothing where the source holds no such entry.
    """

    path: str
    entry: Entry | None = None
    reason: Reason | None = None
    message: str = ""
    subtree: bool = False
    may_be_missing: bool = False
    of_verification: bool = False
    implied: bool = False


class Rows(StrEnum):
    """How the rows of a manifest's file are written."""

    CSV = "csv"
    JSONL = "jsonl"
    INVENTORY = "inventory"


class ManifestPart(Struct, frozen=True, omit_defaults=True):
    """A part of a manifest: the rows of a file whose first byte lies from ``first`` to before ``end``.

    The file at ``key``, in the manifest's bucket, is pinned by its ETag. A compressed one is read from its
    beginning, and its first ``done`` rows are left out. ``line`` is the number of the first row that counts,
    from 1, or 0 where that is not known. ``columns`` are those of CSV, in lower case.
    ``size`` is that of the file in bytes; ``broken`` rows of the part could not be read by those who began it.
    """

    key: str
    etag: str
    size: int
    rows: Rows
    first: int
    end: int
    done: int = 0
    line: int = 0
    columns: tuple[str, ...] = ()
    broken: int = 0

    @property
    def is_compressed(self) -> bool:
        return self.key.endswith(".gz")


class Segment(Struct, frozen=True, omit_defaults=True):
    """The entries whose path begins with ``prefix`` and lies after ``after``, up to ``until`` and with it.

    Paths compare by their bytes, as S3 compares keys. ``after`` and ``until`` are
    whole paths below the tree's root, of an entry or of none; empty means no bound. ``files_above`` holds file keys
    before ``after`` that later keys may show to be directories too. Another segment lists the path ``unlisted``:
    files among its prefixes are not known here and must be looked up. A segment with a ``manifest`` holds the rows of
    that part of it. One with ``carried`` takes over the parts of an earlier run that lie under this key of the
    ledger. Neither has bounds. After ``budget_entries`` or ``budget_seconds`` the rest is handed back in about
    ``ways`` pieces. ``id`` is empty for a piece that no round has named yet.
    """

    id: PlainNameOrNone
    prefix: str = ""
    after: str = ""
    until: str = ""
    files_above: tuple[str, ...] = ()
    manifest: ManifestPart | None = None
    carried: str = ""
    unlisted: str = ""
    budget_entries: int = tuning.SEGMENT_ENTRIES
    budget_seconds: float = tuning.SEGMENT_SECONDS
    ways: int = tuning.FRONTIER_SEGMENTS

    def ends_below(self, directory: str) -> bool:
        """Whether the segment ends inside a directory (path ends in ``/``); another one continues there."""
        return self.until.startswith(directory) and self.until != ""

    def ends_before(self, path: str) -> bool:
        """Whether a path sorts after the segment's end."""
        return self.until != "" and os.fsencode(self.until) < os.fsencode(path)


class DestinationListing(Struct, frozen=True):
    """A segment's entries at a destination that ListSegment does not see, in files of the ledger.

    ``cut`` is the path after which the listing broke off, where it did. The files ``looked_up`` say what is at
    paths of a manifest and at directories above them; ``rows`` is the number of the manifest's rows after which the
    lookups broke off, where they did, else 0. ``published`` are the notes of published trees by their root, as
    ``listing.deciding.published`` asks for them.
    """

    files: list[str]
    cut: str
    looked_up: list[str] = field(default_factory=list)
    rows: int = 0
    published: dict[str, str] = field(default_factory=dict)


# Sorts after every name: 255 bytes is the longest name, and 0xFF is in no UTF-8 text.
_AFTER_EVERY_NAME = "\udcff" * 256


def after_subtree(directory: str) -> str:
    """A bound after every path below ``directory`` (which ends in ``/``) and before all that sorts later."""
    return directory + _AFTER_EVERY_NAME


def within(segment: Segment, path: str) -> bool:
    key = os.fsencode(path)
    if not path.startswith(segment.prefix) or key <= os.fsencode(segment.after):
        return False
    return not segment.until or key <= os.fsencode(segment.until)


def rest_of(segment: Segment, last: str, files_above: tuple[str, ...]) -> Segment:
    """The rest of a segment after its path ``last``."""
    return replace(segment, after=last, files_above=files_above)


def cut(rest: Segment, cuts: Iterable[str]) -> list[Segment]:
    """The segment in pieces that end at the cuts, which are paths of entries or of none, in any order.

    The pieces are disjoint, and together they are the segment, whatever the cuts: those that lie
    outside are left out. Their ids are empty: the next round numbers them.
    """
    inside = sorted({one for one in cuts if within(rest, one)}, key=os.fsencode)
    ends = [*inside, rest.until]
    pieces = [_piece(replace(rest, id="", until=ends[0]))]
    for after, until in zip(inside, ends[1:], strict=True):
        pieces.append(_piece(replace(rest, id="", after=after, until=until, files_above=(), unlisted=after)))
    return pieces


def _piece(segment: Segment) -> Segment:
    """The segment below the deepest directory that both its bounds lie in: all between them begins with it."""
    if not segment.until:
        return segment
    directory = ""
    for end, (one, other) in enumerate(zip(segment.after, segment.until, strict=False), start=1):
        if one != other:
            break
        if one == "/":
            directory = segment.after[:end]
    return replace(segment, prefix=directory) if len(directory) > len(segment.prefix) else segment


def open_round(number: int, pieces: Sequence[Segment]) -> list[Segment]:
    """The pieces as segments of a round: numbered, and with a budget.

    With few segments each hands back early, in many pieces, so that all listers get work. With many segments each
    works on: the frontier is wide enough, and each round costs a Map.
    """
    few = len(pieces) < tuning.FRONTIER_SEGMENTS // 4
    entries = tuning.FIRST_SEGMENT_ENTRIES if few else tuning.SEGMENT_ENTRIES
    seconds = tuning.FIRST_SEGMENT_SECONDS if few else tuning.SEGMENT_SECONDS
    ways = max(2, -(-tuning.FRONTIER_SEGMENTS // max(1, len(pieces))))
    return [
        replace(piece, id=f"{number:04d}-{index:06d}", budget_entries=entries, budget_seconds=seconds, ways=ways)
        for index, piece in enumerate(pieces)
    ]


def no_pruning(_path: str) -> bool:
    """Everything is listed."""
    return False
