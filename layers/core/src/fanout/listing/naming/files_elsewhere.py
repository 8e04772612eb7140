"""Finds keys that are both file and directory, where another segment lists the file."""

from __future__ import annotations

from fanout.listing.naming.placement import Find, Naming
from fanout.model.entry import Kind
from fanout.request.request import Request


def may_be_both(request: Request) -> bool:
    """Whether keys become files, so that ``a`` beside ``a/b`` may occur and matters."""
    return request.source.is_keyed and not request.destination.is_keyed


class FilesElsewhere:
    """Looks up, once each, the files that are a parent of a listed path and lie before the segment.

    Such a file is a prefix of ``unlisted``, the path that the segment begins after: keys sort as ``a``, ``a-5``,
    ``a/b``. So only parents that are such a prefix are looked up, at most one for each level of the path.
    """

    def __init__(self, unlisted: str, find: Find, place_of: Naming) -> None:
        self._unlisted, self._find, self._place_of = unlisted, find, place_of
        self._known: dict[str, bool] = {}

    def parents(self, path: str, listed: tuple[str, ...]) -> tuple[str, ...]:
        """The files that are parent directories of ``path``: those ``listed`` in this segment, and those before it."""
        before: list[str] = []
        end = path.find("/")
        while end > 0 and self._unlisted.startswith(path[:end]):
            name = path[:end]
            if name not in self._known:
                self._known[name] = self._is_file(name, tuple(before))
            if self._known[name]:
                before.append(name)
            end = path.find("/", end + 1)
        return (*before, *(one for one in listed if one not in before)) if before else listed

    def _is_file(self, name: str, above: tuple[str, ...]) -> bool:
        """Whether a file exists there that is not itself rejected."""
        entry = self._find(name)
        return entry is not None and entry.kind is Kind.FILE and self._place_of(entry, above).reason is None
