"""Entries that the published version holds as they are: the new version gets names of their files."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.kind import ObjectKind
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import made_from_row
from fanout.model.entry import Entry, MadeEntry
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.model.path_rules import PlainName, PlainNameOrNone
from fanout.ports.tree import ReadTree
from fanout.request.parts.publish import version_place
from fanout.request.plan import Plan


class VersionBefore(Struct, frozen=True):
    """The version that the link named when the run began; empty for none.

    ``others`` are the other versions there, and runs that this one resumes, the newest first: they may have linked
    files of that version since it was published, which moved their ctimes. For a run that resumes others, ``version``
    is what the link named when the first of them began, and ``named`` when it began itself.
    """

    version: PlainNameOrNone
    others: tuple[PlainName, ...] = ()
    named: PlainNameOrNone = ""


# The version that is published when a run begins.
VERSION_BEFORE = ObjectKind("version-before.json", VersionBefore, by=("CheckMount",), short=False)


class Sealed(Struct, frozen=True):
    """The time of the file system after the last change of a run that published, in nanoseconds since 1970."""

    at_ns: int


# When, by the file system's clock, a run that published had made its last change there.
SEALED = ObjectKind("version-sealed.json", Sealed, by=("FinishTree",), short=False)


def version_before(ledger: Ledger) -> VersionBefore:
    """The version that was published when the run began, or the first of those that it resumes."""
    return ledger.whole_run().read(VERSION_BEFORE)


def linked_from(
    plan: Plan, before: VersionBefore, destination: ReadTree, ledger: Ledger, entries: Iterable[Entry]
) -> Callable[[Entry], str | None]:
    """As ``Copier``'s ``same``: empty for one of ``entries`` that was linked, ``None`` for one that has to be copied.

    An entry is linked while it is as the version's own record says that it was made or, where a later run linked it
    and so moved its ctime, as that run's record says.
    """
    files = destination.file_system
    place = version_place(plan.request.destination.place, before.version)
    records = _Records(before, ledger, {entry.placed.path for entry in entries}) if before.version else None

    def link(entry: Entry) -> str | None:
        placed = entry.placed
        if files is None or records is None:
            return None
        is_linked = any(files.link_from(placed, place, made) for made in records.of(placed.path))
        return "" if is_linked else None

    return link


class _Records:
    """The records of some paths, of the version before and then of each other run; read when they are asked for."""

    def __init__(self, before: VersionBefore, ledger: Ledger, paths: set[str]) -> None:
        self._versions, self._ledger, self._paths = (before.version, *before.others), ledger, paths
        self._read: dict[str, dict[str, list[MadeEntry]]] = {}
        self._lock = threading.Lock()

    def of(self, path: str) -> Iterator[list[MadeEntry]]:
        """The records of a path, one run's after the other's; any thread may ask."""
        for version in self._versions:
            if made := self._of(version).get(path):
                yield made

    def _of(self, version: str) -> dict[str, list[MadeEntry]]:
        with self._lock:
            if version not in self._read:
                self._read[version] = made_in(version, self._ledger, self._paths)
            return self._read[version]


def made_in(version: str, ledger: Ledger, paths: set[str]) -> dict[str, list[MadeEntry]]:
    """The records that a run made of these paths; several of a path that more than one attempt made."""
    found: dict[str, list[MadeEntry]] = {}
    try:
        earlier, bounds = ledger.of_run(version), sorted(map(keys.bound_of, paths))
    except InvalidRequest:  # a name below versions/ that no run has
        return found
    sealed_ns = _sealed_ns(earlier)
    for key in earlier.keys(keys.MADE):
        try:
            if not _overlap(bounds, key, earlier):
                continue
            for made in earlier.read_rows_as(key, made_from_row):
                if made.path in paths:
                    found.setdefault(made.path, []).append(replace(made, sealed_ns=sealed_ns))
        except LedgerBroken as error:
            text = f"a record of version {version} cannot be read, what it is about is copied: {error}"
            ledger.whole_run().note("linking", [text[:500]])
    return found


def _sealed_ns(earlier: Ledger) -> int:
    try:
        sealed = earlier.find(SEALED)
    except LedgerBroken:  # what has no ctime of its own is copied
        return 0
    return 0 if sealed is None else sealed.at_ns


def _overlap(bounds: list[bytes], key: str, ledger: Ledger) -> bool:
    """Whether one of these paths may lie between the first and the last of a file of records."""
    with ledger.decoding(key):
        first, last = keys.made_bounds(key)
    at = bisect_left(bounds, first)
    return at < len(bounds) and bounds[at] <= last
