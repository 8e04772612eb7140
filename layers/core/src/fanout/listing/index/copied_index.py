"""Records what an earlier run of the same transfer left at both ends, because a LIST alone shows too little.

A LIST shows no owner's time of an object, so times alone may call an old copy unchanged. The index of the last run
that succeeded checks what ``decisions`` calls unchanged. It never makes unchanged what times call changed.

| the index       | source    | destination        | the pair                                        |
|-----------------|-----------|--------------------|-------------------------------------------------|
| cannot be read  | any       | any                | is unknown                                      |
| lacks the path  | any       | any                | differs                                         |
| holds it        | differs   | any                | differs                                         |
| holds it        | is as was | was not seen after | was copied, and the destination may be another's |
| holds it        | is as was | is as was          | is vouched for                                  |
| holds it        | is as was | differs            | differs                                         |

An end is as it was by size, mtime, ctime and ETag; an object has one time for both. Giving a file at the destination
another owner moves its ctime, so the file is copied again: a file replaced by one of the same mtime shows no other
trace. A run does not see its own copies at the destination afterwards; the next run that finds them unchanged does.
``fanout.listing.deciding.proof_rules`` says what follows from each state.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from itertools import repeat

from fanout.facts import tuning
from fanout.ledger.kind import ALONE, ObjectKind
from fanout.ledger.run_places import INDEXES, run_prefix
from fanout.model.columns import FileColumns
from fanout.model.document import Json, Lasting
from fanout.model.entry import Entry, Kind
from fanout.model.path_rules import PlainNameOrNone
from fanout.request.fields.traits import Decides
from fanout.request.options import Compare
from fanout.request.plan import Plan
from fanout.request.request import digest_without, knows_extras
from fanout.shards.round_records import IndexFile

# Size, mtime, ctime and ETag of the source; mtime, ctime and ETag of the destination, no times where it was not seen.
State = tuple[int, int, int, str, int | None, int | None, str]
_FILES = (Kind.FILE, Kind.SYMLINK)
# Entries of one row: keeps a line at about a hundred kilobytes.
_A_ROW = 1_000


class Verdict(Enum):
    """The state of a pair in the index; the table above."""

    UNKNOWN = "unknown"
    DIFFERS = "differs"
    COPIED = "copied"
    VOUCHED = "vouched"


def keeps_index(plan: Plan) -> bool:
    """Whether a run uses an index: it lists two whole trees, compares times, and one end is a bucket or a version."""
    request = plan.request
    with_bucket = request.source.is_keyed or request.destination.is_keyed
    with_bucket = with_bucket or bool(plan.version)
    carries_over = bool(plan.resumes) and request.course.carries_over
    whole = request.manifest is None and not carries_over and knows_extras(request)
    by_times = request.compare is Compare.SIZE_MTIME and (request.course.copies or request.course.plans)
    return with_bucket and whole and by_times


def indexed_kinds(plan: Plan) -> Collection[Kind]:
    """The kinds that the index of a run holds: directories where they are objects at the destination."""
    return (*_FILES, Kind.DIRECTORY) if plan.request.destination.is_keyed else _FILES


def transfer_digest(plan: Plan) -> str:
    """The digest that a run shares with the earlier run whose index it uses: whose request lists the same."""
    return digest_without(plan.request, Decides.ACTION)


def verdict(known: State | None, found: State) -> Verdict:
    """The state by the table above, of a part that can be read; ``known`` is the part's record of a path."""
    if known == found:
        return Verdict.VOUCHED
    if known is None or known[:4] != found[:4] or known[4] is not None:
        return Verdict.DIFFERS
    return Verdict.COPIED


def _states(source: FileColumns, destination: FileColumns | None) -> Iterator[State]:
    length = len(source)
    here = source.etags or repeat("", length)
    if destination is None:
        unseen = (repeat(None, length), repeat(None, length), repeat("", length))
        return zip(source.sizes, source.mtimes_ns, source.changed_ns, here, *unseen, strict=True)
    there = destination.etags or repeat("", length)
    times = (destination.mtimes_ns, destination.changed_ns)
    return zip(source.sizes, source.mtimes_ns, source.changed_ns, here, *times, there, strict=True)


def _state(source: Entry, destination: Entry | None) -> State:
    here = (source.size, source.mtime_ns, source.changed_ns, source.etag)
    if destination is None:
        return (*here, None, None, "")
    return (*here, destination.mtime_ns, destination.changed_ns, destination.etag)


class IndexRows:
    """Takes entries in their order until they are written."""

    def __init__(self, kinds: Collection[Kind] = _FILES) -> None:
        self._kinds = kinds
        self._paths: list[str] = []
        self._states: list[State] = []

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, source: Entry, destination: Entry | None) -> None:
        """Take an entry, if it is of a kind to keep; without a destination it is copied."""
        if source.kind in self._kinds:
            self._paths.append(source.path)
            self._states.append(_state(source, destination))

    def add_files(self, source: FileColumns, destination: FileColumns | None) -> None:
        """Take files that are unchanged, or without a destination copied."""
        self._paths += source.paths
        self._states += _states(source, destination)

    @property
    def bounds(self) -> tuple[str, str]:
        """The first and the last path by their bytes; there must be one."""
        # The order of ASCII is that of its bytes.
        key = None if all(map(str.isascii, self._paths)) else os.fsencode
        return min(self._paths, key=key), max(self._paths, key=key)

    @property
    def marks(self) -> list[str]:
        """The last path of each ``tuning.PIECE_ENTRIES`` that others follow."""
        return self._paths[tuning.PIECE_ENTRIES - 1 : -1 : tuning.PIECE_ENTRIES]

    def rows(self) -> Iterator[Json]:
        """The rows to write, in columns."""
        for start in range(0, len(self), _A_ROW):
            part = slice(start, start + _A_ROW)
            yield {"paths": self._paths[part], "states": list(zip(*self._states[part], strict=True))}


class IndexPart:
    """The content of one index file. Raises ``KeyError``, ``TypeError`` or ``ValueError`` if it is not one."""

    def __init__(self, rows: Iterator[Json]) -> None:
        self._known: dict[str, State] = {}
        for row in rows:
            states: Iterator[State] = zip(*row["states"], strict=True)
            self._known.update(zip(row["paths"], states, strict=True))

    @property
    def known(self) -> Mapping[str, State]:
        return self._known

    def verdicts(self, source: FileColumns, destination: FileColumns) -> list[Verdict]:
        """The state of each file; all must lie in the part's bounds."""
        known = list(map(self._known.get, source.paths))
        found = list(_states(source, destination))
        if known == found:
            return [Verdict.VOUCHED] * len(known)
        return list(map(verdict, known, found))

    def holds(self, source: Entry) -> bool:
        """Whether the source was the same."""
        known = self._known.get(source.path)
        return known is not None and known[:4] == _state(source, None)[:4]

    def verdict(self, source: Entry, destination: Entry) -> Verdict:
        return verdict(self._known.get(source.path), _state(source, destination))


class Index(Lasting, frozen=True):
    """The files of a run's index, and when the run began and ended, in seconds since 1970."""

    files: list[IndexFile]
    began: float
    ended: float


INDEX = ObjectKind("index.json", Index, by=("SummariseTransfer",))


class IndexOf(Lasting, frozen=True):
    """The run whose index is used; empty where there is none."""

    run: PlainNameOrNone


EARLIER = ObjectKind("earlier.json", IndexOf, by=("PlanTransfer", "CheckMount"), wave=ALONE, early=True)
# The same for the next run of a transfer.
NEXT = ObjectKind("{transfer}.json", IndexOf, by=("SummariseTransfer",), place=run_prefix(INDEXES))


class IndexFiles:
    """The files of an index in the order of their paths."""

    def __init__(self, files: Sequence[IndexFile]) -> None:
        self._files = sorted(files, key=lambda file: os.fsencode(file.first))
        self._firsts = [os.fsencode(file.first) for file in self._files]

    @property
    def marks(self) -> list[str]:
        """The marks of all files, and where one file ends and another follows: each segment had its own."""
        return [mark for file in self._files for mark in (*file.marks, file.last)][:-1]

    def holding(self, path: str) -> IndexFile | None:
        """The file in whose bounds a path lies, if it lies in any."""
        key = os.fsencode(path)
        number = bisect_right(self._firsts, key) - 1
        if number < 0 or key > os.fsencode(self._files[number].last):
            return None
        return self._files[number]

    def holding_each(self, paths: Sequence[str]) -> list[IndexFile | None]:
        """``holding`` of paths that come in their order; mostly one file holds them all."""
        first, last = self.holding(paths[0]), self.holding(paths[-1])
        if first is not None and first is last:
            return [first] * len(paths)
        return list(map(self.holding, paths))
