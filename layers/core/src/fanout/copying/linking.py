"""Entries that the published version holds as they are: the new version gets names of their files."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import made_from_row
from fanout.model.entry import Entry, Made
from fanout.model.errors import LedgerBroken
from fanout.ports.tree import Tree
from fanout.request.parts.publish import version_place
from fanout.request.plan import Plan


class VersionBefore(Struct, frozen=True):
    """The version that the link named when the run began; empty for none."""

    version: str


def version_before(ledger: Ledger) -> VersionBefore:
    """The version that was published when the run began, or the first of those that it resumes."""
    return ledger.whole_run().read(keys.VERSION_BEFORE, VersionBefore)


def linked_from(
    plan: Plan, before: VersionBefore, destination: Tree, ledger: Ledger, entries: Iterable[Entry]
) -> Callable[[Entry], str | None]:
    """As ``Copier``'s ``same``: empty for one of ``entries`` that was linked, ``None`` for one that has to be copied.

    An entry is linked while it is as the version's own record says that it was made.
    """
    files = destination.file_system
    place = version_place(plan.request.destination.place, before.version)
    made = _made_in(before.version, ledger, {entry.placed.path for entry in entries}) if before.version else {}

    def link(entry: Entry) -> str | None:
        placed = entry.placed
        if files is None or not files.link_from(placed, place, made.get(placed.path, ())):
            return None
        return ""

    return link


def _made_in(version: str, ledger: Ledger, paths: set[str]) -> dict[str, list[Made]]:
    """The records of these paths of a version; several of a path that more than one attempt made."""
    found: dict[str, list[Made]] = {}
    earlier, bounds = ledger.of_run(version), sorted(map(keys.bound_of, paths))
    for key in earlier.keys(keys.MADE):
        try:
            if not _overlap(bounds, key, earlier):
                continue
            for made in earlier.read_rows_as(key, made_from_row):
                if made.path in paths:
                    found.setdefault(made.path, []).append(made)
        except LedgerBroken as error:
            text = f"a record of version {version} cannot be read, what it is about is copied: {error}"
            ledger.whole_run().note("linking", [text[:500]])
    return found


def _overlap(bounds: list[bytes], key: str, ledger: Ledger) -> bool:
    """Whether one of these paths may lie between the first and the last of a file of records."""
    with ledger.decoding(key):
        first, last = keys.made_bounds(key)
    at = bisect_left(bounds, first)
    return at < len(bounds) and bounds[at] <= last
