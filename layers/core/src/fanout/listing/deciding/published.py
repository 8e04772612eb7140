"""Decides which entries of the destination belong to a published tree below the root of a run.

A tree is published where the publisher's note is in ``versions/``. A run that publishes has a version as its root,
so what lies below that is its own.

| the note at the destination        | at the source      | a run that writes, below ``versions/`` and at the link |
|------------------------------------|--------------------|--------------------------------------------------------|
| none                               | any                | copies, and a sync deletes                             |
| exists there                       | the same text      | copies: the destination is a copy of that tree         |
| exists there                       | none, or another   | rejects what it would copy; a sync leaves all of it    |

What is deleted is asked for the note again, whatever the source holds: see ``adapters.posix.deletion``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from msgspec import MsgspecError, json

from fanout.model.entry import Entry, Kind
from fanout.model.errors import FanoutError, ItemError
from fanout.ports.tree import ReadTree
from fanout.request.parts.publish import INSIDE_VERSIONS, PUBLISHER, Publisher, roots_in
from fanout.request.plan import Plan

# Chosen: a note is some hundred bytes; one that somebody made larger is not read whole.
_NOTE_BYTES = 64 * 1024

# The text of the note of the tree at a root, which is empty or ends in "/"; None where there is no note.
NoteOf = Callable[[str], str | None]


class PublishedTrees:
    """The published trees below the destination's root that are no copies of the source's."""

    def __init__(self, there: NoteOf, here: NoteOf) -> None:
        self._there, self._here = there, here
        self._kept: dict[str, str | None] = {}

    def holds(self, path: str) -> str | None:
        """The root of the tree whose versions hold a path; ``None`` for none."""
        return next((root for root in roots_in(path) if self._note(root) is not None), None)

    def holds_entry(self, entry: Entry) -> str | None:
        """As ``holds``, also for the link of a tree, as the destination's listing shows it."""
        found = self.holds(entry.path) if INSIDE_VERSIONS in entry.path else None
        if found is None and entry.kind is Kind.SYMLINK:
            root = entry.path[: entry.path.rfind("/") + 1]
            note = self._note(root)
            if note is not None and _link_of(note) in ("", entry.path[len(root) :]):
                return root
        return found

    def leaves(self, extra: Entry) -> bool:
        """Whether a sync leaves an entry that only the destination holds, and counts it.

        Not the directory of the versions: it is an extra like any other, whose deletion fails. So a row of the
        failures names each tree.
        """
        root = self.holds_entry(extra)
        return root is not None and extra.path != f"{root}{INSIDE_VERSIONS}"

    def _note(self, root: str) -> str | None:
        if root not in self._kept:
            note = self._there(root)
            self._kept[root] = None if note is None or note == self._here(root) else note
        return self._kept[root]


NO_TREES = PublishedTrees(lambda _root: None, lambda _root: None)


def published_trees(plan: Plan, source: ReadTree, there: NoteOf) -> PublishedTrees:
    """The trees for a listing; ``there`` reads the notes at the destination."""
    request = plan.request
    if request.destination.is_keyed or plan.version or request.course.compares or request.course.goes_back:
        return NO_TREES
    return PublishedTrees(there, lambda root: note_in(source, root))


def note_in(tree: ReadTree, root: str) -> str | None:
    """The text of the publisher's note below a root; ``None`` where there is none, empty where it cannot be read."""
    try:
        entry = tree.find(f"{root}{INSIDE_VERSIONS}{PUBLISHER}")
    except ItemError:  # a symlink or a file above it: no version lies there
        return None
    if entry is None:
        return None
    try:
        with closing(tree.open(entry)) as opened:
            return opened.read(0, min(entry.size, _NOTE_BYTES)).decode(errors="replace")
    except (FanoutError, ItemError, OSError):
        return ""


def _link_of(note: str) -> str:
    """The name of the link; empty where the note does not tell it, and any symlink may be it."""
    try:
        return json.decode(note, type=Publisher).link
    except MsgspecError:
        return ""
