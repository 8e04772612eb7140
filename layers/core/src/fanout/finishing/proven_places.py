"""Completes rows of directories by the places that the run noted: which it made, each looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.shards.made_directories import MadeDirectory
from fanout.work.parallel import ahead

# Chosen: paths in memory, of one row each.
_KEPT = 200_000
# No directory has it: two attempts made one each.
_SEVERAL = "several"

ReadsDirectories = Callable[[str], list[MadeDirectory]]


class ProvenPlaces:
    """The rows of places of one task, and what it knows of them; ``read`` reads a file of directories by its key."""

    def __init__(self, ledger: Ledger, read: ReadsDirectories) -> None:
        self._ledger, self._read = ledger, read
        self._own: dict[str, str] | None = None
        self._looked_at: set[tuple[str, str]] = set()

    def complete(self, rows: list[MadeDirectory]) -> list[MadeDirectory]:
        """Rows with the inode of the directory that the run made where they have none, less those looked at already.

        A row that stays without one is about a directory that the run neither listed nor made.
        """
        lacking = {one.path for one in rows if not one.inode and not one.place}
        own = self._made(lacking) if lacking else {}
        found = [replace(one, inode=own.get(one.path, "")) if one.path in lacking else one for one in rows]
        known = {(one.path, one.inode) for one in found if not one.place and not one.implied}
        return [one for one in found if not one.place or self._is_new(one, known)]

    def _is_new(self, place: MadeDirectory, known: set[tuple[str, str]]) -> bool:
        """Whether nothing else looks at it in this task."""
        one = place.path, place.inode
        if one in known or one in self._looked_at:
            return False
        if len(self._looked_at) < _KEPT:
            self._looked_at.add(one)
        return True

    def _made(self, paths: set[str]) -> dict[str, str]:
        """The inodes of these directories, as far as the run made them. One pass over the files, if memory holds all.

        Otherwise a pass for each call, which is about a file of a listing.
        """
        if self._own is None:
            every: dict[str, str] = {}
            for path, inode in self._all():
                _add(every, path, inode)
                if len(every) > _KEPT:
                    break
            else:
                self._own = every
        if self._own is not None:
            return self._own
        some: dict[str, str] = {}
        for path, inode in self._all():
            if path in paths:
                _add(some, path, inode)
        return some

    def _all(self) -> Iterator[tuple[str, str]]:
        found = (key for key in self._ledger.keys(keys.DIRECTORIES) if key.endswith(".jsonl.gz"))
        files = [*filter(keys.copied_directories, found), *self._ledger.keys(keys.PLACED)]
        for _, rows in ahead(self._read, files, tuning.LEDGER_FILES_AHEAD):
            yield from ((one.path, one.inode) for one in rows if one.inode and (one.is_own or not one.place))


def _add(known: dict[str, str], path: str, inode: str) -> None:
    known[path] = inode if known.get(path, inode) == inode else _SEVERAL
