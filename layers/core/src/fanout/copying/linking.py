"""Entries that the published version holds as they are: the new version gets names of their files."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.entry import Entry
from fanout.ports.tree import Tree
from fanout.request.parts.publish import version_place
from fanout.request.plan import Plan


class VersionBefore(Struct, frozen=True):
    """The version that the link named when the run began; empty for none.

    A copy of an object in it that was written after ``made``, in seconds since 1970, was changed in place.
    """

    version: str
    made: float = 0.0


def version_before(ledger: Ledger) -> VersionBefore:
    """The version that was published when the run began, or the first of those that it resumes."""
    return ledger.whole_run().read(keys.VERSION_BEFORE, VersionBefore)


def linked_from(plan: Plan, before: VersionBefore, destination: Tree) -> Callable[[Entry], str | None]:
    """As ``Copier``'s ``same``: empty for an entry that was linked, ``None`` for one that has to be copied."""
    files = destination.file_system
    place = version_place(plan.request.destination.place, before.version)
    made_ns = int(before.made * 1e9)

    def link(entry: Entry) -> str | None:
        if not before.version or files is None or not files.link_from(entry.placed, place, made_ns):
            return None
        return ""

    return link
