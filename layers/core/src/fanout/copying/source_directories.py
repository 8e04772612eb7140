"""Looks up the attributes that directories of a destination will get, for one that has to be closed first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing

from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.path_rules import parents_of
from fanout.ports.tree import ReadTree, WritesEntries
from fanout.request.plan import Plan
from fanout.shards.made_directories import TAKEN, SeenDirectory

# Chosen: directories in memory whose names are others at the destination.
_KNOWN = 10_000


class SourceTreeDirectories:
    """See ``ports.file_system.SourceDirectories``; ``note`` takes a directory that was taken.

    ``are_entries``: not of a manifest, which need not name the directories above its entries.
    """

    def __init__(self, source: ReadTree, note: Callable[[SeenDirectory], None], *, are_entries: bool) -> None:
        self._attributes, self._note, self.are_entries = attributes_in(source), note, are_entries
        self._lock = threading.Lock()
        self._renamed: dict[str, str] = {}

    def see(self, entry: Entry) -> None:
        """Take an entry that has another path at the destination, before it is put there."""
        here, there = list(parents_of(entry.path)), list(parents_of(entry.target))
        if here != there and len(here) == len(there):
            with self._lock:
                if len(self._renamed) > _KNOWN:
                    self._renamed.clear()
                self._renamed.update(zip(there, here, strict=True))

    def attributes(self, path: str) -> Attributes | None:
        with self._lock:
            path = self._renamed.get(path, path)
        return self._attributes(path)

    def taken(self, path: str, attributes: Attributes) -> None:
        self._note((Entry(path, Kind.DIRECTORY, replaces=TAKEN), attributes))


def attributes_in(source: ReadTree) -> Callable[[str], Attributes | None]:
    """Answers with the attributes of a directory; a bucket takes a HEAD and a LIST, a mount a look-up.

    ``None`` where the source has no entry of it. Raises ``ItemError``, and errors of the store.
    """

    def attributes(path: str) -> Attributes | None:
        found = source.find_stored(path)
        if found is None or found.entry.kind is not Kind.DIRECTORY:
            return None
        if found.attributes is not None:
            return found.attributes
        with closing(source.open(found.entry)) as opened:
            return opened.attributes

    return attributes


def close_by_source(
    source: ReadTree | None, destination: WritesEntries, plan: Plan, note: Callable[[SeenDirectory], None]
) -> SourceTreeDirectories | None:
    """Have a mounted destination close directories by their source; ``None`` where this function does not see both."""
    if source is None or destination.file_system is None:
        return None
    above = SourceTreeDirectories(source, note, are_entries=plan.request.manifest is None)
    destination.file_system.close_by(above)
    return above
