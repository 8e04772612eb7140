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
    """The version that the link named when the run began; empty for none."""

    version: str


def version_before(plan: Plan, ledger: Ledger) -> str:
    """The place of the version that was published when the run began, or the first of those that it resumes."""
    found = ledger.whole_run().read(keys.VERSION_BEFORE, VersionBefore).version
    return version_place(plan.request.destination.place, found) if found else ""


def linked_from(place: str, destination: Tree) -> Callable[[Entry], str | None]:
    """As ``Copier``'s ``same``: empty for an entry that was linked, ``None`` for one that has to be copied."""
    files = destination.file_system

    def link(entry: Entry) -> str | None:
        if not place or files is None or not files.link_from(entry.placed, place):
            return None
        return ""

    return link
