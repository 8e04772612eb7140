"""Completes rows of directories by the places that the run noted: which it made, each looked at once."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.shards.made_directories import MadeDirectory, read_made
from fanout.work.parallel import ahead

# Chosen: paths in memory, of one row each.
_KEPT = 200_000
# No directory has it: two attempts made one each.
_SEVERAL = "several"


class ProvenPlaces:
    """The rows of places of one task, and what it knows of them; ``carried``: also by what a run took over."""

    def __init__(self, ledger: Ledger, *, carried: bool = False) -> None:
        self._ledger, self._carried = ledger, carried
        self._own: dict[str, str] | None = None
        self._looked_at: set[tuple[str, str]] = set()

    def complete(self, rows: list[MadeDirectory]) -> list[MadeDirectory]:
        """Rows with the inode of the directory that the run made where they have none, less those looked at already.

        A row that stays without one is about a directory that the run neither listed nor made. One that was listed
        before the run had it for its own (another round, or a run before, made it) needs no more proof.
        """
        taken = {one.path for one in rows if one.is_taken}
        settable = [one for one in rows if not one.place and not one.is_taken]
        lacking = {one.path for one in settable if not one.inode or (one.implied and one.listed)}
        own = self.own(lacking | taken)
        decided = [one for one in rows if not (one.is_taken and own.get(one.path))]  # another row sets it, or fails
        found = [_proven(one, own.get(one.path, "")) if one.path in lacking else one for one in decided]
        known = {(one.path, one.inode) for one in found if not one.place and not one.implied}
        return [one for one in found if not one.place or self._is_new(one, known)]

    def own(self, paths: set[str]) -> dict[str, str]:
        """The inodes of directories that the run made, by their paths; these among them, if it made them."""
        return self._made(paths) if paths else {}

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
        proving = (key for key in found if keys.copied_directories(key) or (self._carried and keys.is_carried(key)))
        files = [*proving, *self._ledger.keys(keys.PLACED)]
        for _, rows in ahead(lambda key: read_made(self._ledger, key, None), files, tuning.LEDGER_FILES_AHEAD):
            yield from ((one.path, one.inode) for one in rows if one.inode and _is_proof(one))


def _is_proof(row: MadeDirectory) -> bool:
    return row.is_own if row.place else not (row.implied and row.listed)


def _proven(row: MadeDirectory, own: str) -> MadeDirectory:
    if row.inode:
        return replace(row, listed=row.inode != own)
    return replace(row, inode=own)


def _add(known: dict[str, str], path: str, inode: str) -> None:
    known[path] = inode if known.get(path, inode) == inode else _SEVERAL
