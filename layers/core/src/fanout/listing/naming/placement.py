"""Finds the path of an entry at the destination, or the reason why it cannot have one.

| on_conflict | a name that the destination cannot hold | every other name                                        |
|-------------|------------------------------------------|---------------------------------------------------------|
| fail        | rejected with its reason                 | as it is                                                |
| skip        | skipped with its reason                  | as it is                                                |
| escape      | escaped; rejected if it is too long then | as it is, but ``^`` is escaped                          |
| unescape    | rejected with its reason                 | as before ``escape``; rejected if that never makes it   |

Inside S3 every key stays as it is, if it is not too long below the new prefix. A path on a mount that shows a bucket
has to be a key there too: what is none would never reach the bucket.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct

from fanout.listing.naming.escaping import EMPTY, escape_key, escape_path, unescape_key, unescape_path
from fanout.model.entry import Entry, Kind
from fanout.model.location import Location
from fanout.model.outcome import Reason
from fanout.model.path_rules import key_too_long, reason_against_file_path, reason_against_key
from fanout.request.options import OnConflict
from fanout.request.plan import Plan
from fanout.request.request import Request

FilesAbovePath = tuple[str, ...]


# Not frozen, although never changed: each entry gets its own, see ``Entry``.
class Placement(Struct, frozen=True):
    """A path at the destination; if it has a reason, the path cannot be used."""

    path: str
    reason: Reason | None = None


Find = Callable[[str], Entry | None]
Naming = Callable[[Entry, FilesAbovePath], Placement]


def naming_of(plan: Plan, find: Find) -> Naming:
    """The rule of a run: that of its direction, within what the destination's kind of file system takes."""
    request = plan.request
    rule = naming_rule(request.source, request.destination, request.on_conflict, find)
    kind = plan.kind_of(plan.destination)
    if kind is None or kind.key_bytes is None:
        return rule
    _, prefix = plan.shown_by(plan.destination) or ("", plan.destination.place)
    prefix_bytes = len(prefix.encode())

    def within(entry: Entry, files_above: FilesAbovePath) -> Placement:
        place = rule(entry, files_above)
        return place if place.reason is not None else Placement(place.path, key_too_long(place.path, prefix_bytes))

    return within


def naming_rule(source: Location, destination: Location, on_conflict: OnConflict, find: Find) -> Naming:
    """The rule of a direction. ``find`` looks a path up at the source.

    The rule takes an entry, and the keys above it that are files.
    """
    if destination.is_keyed:
        prefix_bytes = len(destination.place.encode())
        if source.is_keyed:
            return lambda entry, _: Placement(entry.path, key_too_long(entry.path, prefix_bytes))
        return _to_keys(prefix_bytes, on_conflict, find)
    return _to_files(on_conflict, find)


# Files that are directories of others too, and of which it is known whether they are empty.
_MARKERS_KEPT = 1_000


def _to_files(on_conflict: OnConflict, find: Find) -> Naming:
    @lru_cache(_MARKERS_KEPT)
    def is_empty(path: str) -> bool:
        found = find(path)
        return found is not None and not found.size

    def as_it_is(entry: Entry, files_above: FilesAbovePath) -> Placement:
        is_no_directory = entry.kind is not Kind.DIRECTORY and entry.path.endswith("/")
        reason = reason_against_file_path(entry.path) or (Reason.NAME_EMPTY if is_no_directory else None)
        if reason is None and files_above:
            reason = Reason.MARKER_AND_DIRECTORY if all(map(is_empty, files_above)) else Reason.FILE_AND_DIRECTORY
        return Placement(entry.path, reason)

    def escaped(entry: Entry, files_above: FilesAbovePath) -> Placement:
        path = escape_key(entry.path, is_directory=entry.kind is Kind.DIRECTORY, files_above=files_above)
        return Placement(path, reason_against_file_path(path))

    def unescaped(entry: Entry, files_above: FilesAbovePath) -> Placement:
        place = as_it_is(entry, files_above)
        path = unescape_key(entry.path)
        if place.reason or path is None:
            return Placement(entry.path, place.reason or Reason.NAME_NOT_ESCAPED)
        return Placement(path, reason_against_file_path(path))

    return {OnConflict.ESCAPE: escaped, OnConflict.UNESCAPE: unescaped}.get(on_conflict, as_it_is)


def _to_keys(prefix_bytes: int, on_conflict: OnConflict, find: Find) -> Naming:
    def as_it_is(entry: Entry, _above: FilesAbovePath) -> Placement:
        return Placement(entry.path, reason_against_key(entry.path, prefix_bytes))

    def escaped(entry: Entry, _above: FilesAbovePath) -> Placement:
        path = escape_path(entry.path)
        return Placement(path, reason_against_key(path, prefix_bytes))

    def unescaped(entry: Entry, _above: FilesAbovePath) -> Placement:
        is_directory = entry.path.endswith("/")
        found = unescape_path(entry.path, is_directory=is_directory)
        if found is None:
            return Placement(entry.path, Reason.NAME_NOT_ESCAPED)
        key, siblings = found
        of_nothing = key.endswith("/") and not is_directory and not entry.size
        if of_nothing or not all(_is_file(find(path)) for path in siblings):
            return Placement(entry.path, Reason.NAME_NOT_ESCAPED)
        if is_directory and _is_file(find(entry.path + EMPTY)):
            return Placement(key, Reason.KEY_OF_A_FILE)
        return Placement(key, key_too_long(key, prefix_bytes))

    return {OnConflict.ESCAPE: escaped, OnConflict.UNESCAPE: unescaped}.get(on_conflict, as_it_is)


def _is_file(entry: Entry | None) -> bool:
    return entry is not None and entry.kind in (Kind.FILE, Kind.SYMLINK)


def may_be_both(request: Request) -> bool:
    """Whether keys become files, so that ``a`` and ``a/b`` may both occur, which matters."""
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
