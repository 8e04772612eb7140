"""What an earlier run of the same transfer left at both ends, where a LIST alone does not tell enough.

An object shows no time of its owner's in a LIST, so the rule of ``decisions`` takes what is old for unchanged. The
index of the last run that succeeded tells more, and what ``decisions`` calls unchanged is copied all the same where
it says so. It never makes unchanged what the rule would copy.

| the index         | source    | destination        | copied all the same |
|-------------------|-----------|--------------------|---------------------|
| can not be read   | any       | any                | no                  |
| lacks the path    | any       | any                | yes                 |
| holds it          | differs   | any                | yes                 |
| holds it          | is as was | was not seen after | no                  |
| holds it          | is as was | is as was          | no                  |
| holds it          | is as was | differs            | yes                 |

A source is as it was by size, mtime, ctime and ETag. A destination is by the time and the ETag of an object or by the
mtime of a file, whose ctime moves when somebody gives it to another owner. What a run copied it has not seen at the
destination after; the next run that finds it unchanged has.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import repeat

from msgspec import Struct

from fanout.domain.decisions import Compare
from fanout.domain.entries import Entry, Kind
from fanout.domain.file_columns import FileColumns
from fanout.domain.locations import S3Location
from fanout.domain.plan import Plan, plan_row
from fanout.domain.request import Mode, knows_extras
from fanout.domain.rows import Json

INDEX_VERSION = 1
# Size, mtime, ctime and ETag of the source; time and ETag of the destination, no time where it was not seen.
State = tuple[int, int, int, str, int | None, str]
_KINDS = (Kind.FILE, Kind.SYMLINK)
# Entries of one row: keeps a line at about a hundred kilobytes.
_A_ROW = 1_000
# What may differ between two runs of which one uses the index of the other: it does not change what is listed.
_NOT_OF_THE_TREES = frozenset(
    {"schema_version", "run_id", "mode", "verify", "limits", "delete_guard", "objects", "rates", "resumes", "prices"}
)


def keeps_index(plan: Plan) -> bool:
    """Whether a run is of those that use an index: it lists two whole trees, compares times, and one is a bucket."""
    request = plan.request
    with_bucket = isinstance(request.source, S3Location) or isinstance(request.destination, S3Location)
    whole = request.manifest is None and not plan.resumes and knows_extras(request)
    by_times = request.compare is Compare.SIZE_MTIME and request.mode is not Mode.VERIFY
    return with_bucket and whole and by_times


def transfer_digest(plan: Plan) -> str:
    """What runs share of which one uses the index of the other."""
    same = {name: value for name, value in plan_row(plan).items() if name not in _NOT_OF_THE_TREES}
    return sha256(json.dumps(same, sort_keys=True).encode()).hexdigest()


def contradicts(known: State | None, found: State) -> bool:
    """The table above, of a part that can be read; ``known`` is what it holds of a path."""
    if known is None or known[:4] != found[:4]:
        return True
    return known[4] is not None and known[4:] != found[4:]


def _states(source: FileColumns, destination: FileColumns) -> Iterator[State]:
    here = source.etags or repeat("", len(source))
    there = destination.etags or repeat("", len(source))
    times = destination.changed_ns if destination.etags else destination.mtimes_ns
    return zip(source.sizes, source.mtimes_ns, source.changed_ns, here, times, there, strict=True)


def _state(source: Entry, destination: Entry | None) -> State:
    time, etag = None, ""
    if destination is not None:
        etag = destination.etag
        time = destination.changed_ns if etag else destination.mtime_ns
    return (source.size, source.mtime_ns, source.changed_ns, source.etag, time, etag)


class IndexRows:
    """Takes entries in their order until they are written."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._states: list[State] = []

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, source: Entry, destination: Entry | None) -> None:
        """Take a file or symlink; without a destination it is copied."""
        if source.kind in _KINDS:
            self._paths.append(source.path)
            self._states.append(_state(source, destination))

    def add_files(self, source: FileColumns, destination: FileColumns) -> None:
        """Take files that are unchanged."""
        self._paths += source.paths
        self._states += _states(source, destination)

    @property
    def bounds(self) -> tuple[str, str]:
        """The first and the last path by their bytes; there must be one."""
        return min(self._paths, key=os.fsencode), max(self._paths, key=os.fsencode)

    def rows(self) -> Iterator[Json]:
        """What is written, in columns."""
        for start in range(0, len(self), _A_ROW):
            part = slice(start, start + _A_ROW)
            yield {"paths": self._paths[part], "states": list(zip(*self._states[part], strict=True))}


class IndexPart:
    """What one file of an index holds. Raises ``KeyError``, ``TypeError`` or ``ValueError`` where it is none."""

    def __init__(self, rows: Iterator[Json]) -> None:
        self._known: dict[str, State] = {}
        for row in rows:
            states: Iterator[State] = zip(*row["states"], strict=True)
            self._known.update(zip(row["paths"], states, strict=True))

    @property
    def known(self) -> Mapping[str, State]:
        """The states by path."""
        return self._known

    def changed_files(self, source: FileColumns, destination: FileColumns) -> list[bool]:
        """Of each file, all of which lie in the part's bounds, whether it is copied all the same."""
        known = map(self._known.get, source.paths)
        return [
            one != found and contradicts(one, found)
            for one, found in zip(known, _states(source, destination), strict=True)
        ]

    def changed(self, source: Entry, destination: Entry) -> bool:
        """Whether an entry is copied all the same."""
        if source.kind not in _KINDS:
            return False
        return contradicts(self._known.get(source.path), _state(source, destination))


class IndexFile(Struct, frozen=True):
    """A file of an index, and the first and the last path that it holds."""

    key: str
    first: str
    last: str


class IndexFiles:
    """The files of an index in the order of their paths."""

    def __init__(self, files: Sequence[IndexFile]) -> None:
        self._files = sorted(files, key=lambda file: os.fsencode(file.first))
        self._firsts = [os.fsencode(file.first) for file in self._files]

    def holding(self, path: str) -> IndexFile | None:
        """The file in whose bounds a path lies, if it lies in any."""
        key = os.fsencode(path)
        number = bisect_right(self._firsts, key) - 1
        if number < 0 or key > os.fsencode(self._files[number].last):
            return None
        return self._files[number]
