"""The entries below a directory in the order of S3 keys."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice

from fanout.adapters.posix.errors import GONE, LEADS_AWAY, MAY_PASS
from fanout.adapters.posix.listing.read_ahead import ListedBelow, ReadAhead
from fanout.adapters.posix.listing.sorted_names import BATCH, NameRange, Names, bounds_below
from fanout.adapters.posix.listing.stats import Stats, entry_of, listed_of, stat_or_none, stats_of
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.follow import NO_WAY, Follower, WayDown
from fanout.adapters.posix.paths.fresh import names_now
from fanout.model.columns import FileColumns, Listed, first_path, last_path
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError, ListingIncomplete, Transient
from fanout.model.outcome import Reason
from fanout.model.path_rules import STAGING_PREFIX, is_no_place
from fanout.model.segment import Prunes, Segment, no_pruning

# A component on the way to a segment's prefix: the source has nothing below it. A symlink on it that leads out of the
# root, or in a circle, is an entry of the segment that it lies in.
_LEADS_NOWHERE = GONE | LEADS_AWAY


def list_segment(
    directories: Directories,
    root: str,
    segment: Segment,
    prunes: Prunes = no_pruning,
    *,
    follow: bool = False,
    made: bool = False,
) -> Iterator[Listed]:
    """The segment's entries below ``root`` (a path of ``directories``), depth first, sorted by their bytes.

    A directory counts with its ``/``, so that the order is that of keys. Memory is bounded by ``tuning.NAMES_HELD``
    for each directory on one path down the tree. Directories that ``prunes`` names are not opened. Raises
    ``Transient`` for an error of the file system that may pass, ``ListingIncomplete`` for any other. ``made``: see
    ``entry_of``.
    """
    with translated(root, segment):
        yield from _Listing(directories, root, follow, made=made).entries(segment, prunes)


@contextmanager
def translated(root: str, segment: Segment) -> Iterator[None]:
    """Errors of the file system below ``root`` as those of a listing; see ``list_segment``."""
    try:
        yield
    except ItemError as error:
        raise Transient(f"listing stopped below /{root}{segment.prefix}: {error.message}") from error
    except OSError as error:
        number = error.errno or 0
        problem = f"listing stopped below /{root}{segment.prefix}: {errno.errorcode.get(number, number)}"
        if number in MAY_PASS:
            raise Transient(problem) from error
        raise ListingIncomplete(problem) from error


class _Listing:
    """A listing at work; ``device`` is the file system of the root, in which an inode's number is its identity."""

    def __init__(self, directories: Directories, root: str, follow: bool, *, made: bool) -> None:
        self._directories, self._root, self._made = directories, root, made
        self._follower = Follower(directories, root) if follow else None
        self._device = -1
        self._after = self._until = b""
        self._stats = Stats()
        self._ahead = ReadAhead(self._read)
        self._prunes: Prunes = no_pruning

    def entries(self, segment: Segment, prunes: Prunes) -> Iterator[Listed]:
        try:
            yield from self._walk(segment, prunes)
        finally:
            self._ahead.close()
            self._stats.close()

    def _walk(self, segment: Segment, prunes: Prunes) -> Iterator[Listed]:
        self._prunes = prunes
        self._after, self._until = after, until = os.fsencode(segment.after), os.fsencode(segment.until)
        try:
            with self._directories.hold(self._root) as root:
                self._device = os.fstat(root).st_dev
        except (FileNotFoundError, NotADirectoryError):
            return
        way = self._follower.way_to(segment.prefix) if self._follower else NO_WAY
        stack = [(self._top(segment.prefix, way), way)]
        while stack:
            children, way = stack[-1]
            entry = next(children, None)
            if entry is None:
                stack.pop()
                continue
            if isinstance(entry, FileColumns):  # of names within the bounds
                yield entry
                continue
            key = entry.sort_key
            if until and key > until:
                return
            pruned = entry.kind is Kind.DIRECTORY and prunes(entry.path)
            if not pruned and entry.kind is Kind.DIRECTORY and (key > after or after.startswith(key)):
                read = self._ahead.take(entry.path)
                if read is None and key > after:
                    entry = self._checked(entry)
                if entry.kind is Kind.DIRECTORY:
                    down = self._follower.down(way, entry.path) if self._follower else NO_WAY
                    held = self._children(entry.path, down) if read is None else iter(read)
                    stack.append((held, down))
            if key > after:
                yield entry

    def _top(self, prefix: str, way: WayDown) -> Iterator[Listed]:
        """The directory that is the segment's prefix, or what the root holds."""
        if not prefix:
            yield from self._children("", way)
            return
        if self._made and is_no_place(prefix):  # of keys that no copy can be made of
            return
        parent, slash, name = prefix[:-1].rpartition("/")
        try:
            with self._directories.hold(self._root + parent + slash) as descriptor:
                entry = self._entry(descriptor, parent + slash, name, way)
        except OSError as error:
            if error.errno not in _LEADS_NOWHERE:
                raise
            return
        except ItemError as error:  # a symlink is an entry of the segment that it lies in, and nothing is below it
            if error.reason is not Reason.LINK_IN_PATH:
                raise
            return
        if entry is not None and entry.kind is Kind.DIRECTORY:
            yield entry

    def _checked(self, entry: Entry) -> Entry:
        """The directory, or that it cannot be listed: both its names and their entries must be readable."""
        try:
            with self._directories.hold(self._root + entry.path) as descriptor:
                os.stat(".", dir_fd=descriptor)
            return entry
        except PermissionError:
            return Entry(entry.path, Kind.UNLISTABLE, 0, entry.mtime_ns, entry.changed_ns)
        except (FileNotFoundError, NotADirectoryError):
            return entry

    def _children(self, path: str, way: WayDown) -> Iterator[Listed]:
        """The direct children in order, those that can lie in the segment; none where the directory is gone."""
        bounds = bounds_below(path, self._after, self._until)
        last = b""
        more = True
        while more:
            try:
                with self._directories.hold(self._root + path) as descriptor, self._ahead.in_turn():
                    names = self._names(descriptor, path, way, bounds)
            except (FileNotFoundError, NotADirectoryError):
                return
            more = names.more
            for batch in names.batches():
                try:
                    with self._directories.hold(self._root + path) as descriptor:
                        listed = self._listed(descriptor, path, way, batch, names.known)
                except (FileNotFoundError, NotADirectoryError):
                    return
                if listed:
                    first = first_path(listed[0])
                    if os.fsencode(first) <= last:
                        raise Transient(f"{first} changed its kind while its directory was listed")
                    last = os.fsencode(last_path(listed[-1]))
                yield from self._with_next(listed)
            bounds = bounds.after(names.last)

    def _listed(
        self, descriptor: int, path: str, way: WayDown, batch: Sequence[str], known: Mapping[str, Entry]
    ) -> list[Listed]:
        """The entries of names of a directory, in order."""
        if self._follower is None:
            found = self._stats.each(partial(stats_of, descriptor), batch)
            return listed_of(path, batch, found, self._device, made=self._made)
        one = partial(self._known_or_entry, known, descriptor, path, way)
        entries = [entry for entry in self._stats.each(lambda some: list(map(one, some)), batch) if entry is not None]
        return [*sorted(entries, key=lambda entry: entry.sort_key)]

    def _with_next(self, listed: list[Listed]) -> Iterator[Listed]:
        """The listed entries. Directories are read ahead, except behind symlinks, where each needs its own path."""
        if self._follower is None:
            self._ahead.found(self._below(listed))
        return iter(listed)

    def _below(self, listed: Iterable[Listed]) -> list[str]:
        """The directories that the listing comes to."""
        entries = (one for one in listed if isinstance(one, Entry))
        found = [entry.path for entry in entries if entry.kind is Kind.DIRECTORY]
        return [path for path in found if not self._prunes(path)]

    def _read(self, path: str) -> ListedBelow | None:
        """See ``ReadAhead``: what a directory holds of the segment."""
        names = Names(bounds_below(path, self._after, self._until))
        try:
            with self._directories.hold(self._root + path) as descriptor:
                os.stat(".", dir_fd=descriptor)
                names_now(descriptor)
                with os.scandir(descriptor) as found:
                    names.add_all(islice(found, BATCH))
                    if next(found, None) is not None:
                        return None
                names.close()
                batch = next(names.batches(), [])
                listed = listed_of(path, batch, stats_of(descriptor, batch), self._device, made=self._made)
                return listed, self._below(listed)
        except (OSError, ItemError):
            return None

    def _names(self, descriptor: int, path: str, way: WayDown, bounds: NameRange) -> Names:
        """The first names; what a followed symlink leads to decides its place, so those are looked up here."""
        names = Names(bounds)
        names_now(descriptor)
        with os.scandir(descriptor) as found:
            taken = found if path else (child for child in found if not child.name.startswith(STAGING_PREFIX))
            if self._follower is None:
                names.add_all(taken)
            else:
                names.add_all(self._looked_up(taken, names, descriptor, path, way))
        names.close()
        return names

    def _looked_up(
        self, found: Iterable[os.DirEntry[str]], names: Names, descriptor: int, path: str, way: WayDown
    ) -> Iterator[os.DirEntry[str]]:
        """The entries that are no symlinks; symlinks are looked up and handed to ``names``."""
        for child in found:
            if not child.is_symlink():
                yield child
                continue
            entry = self._entry(descriptor, path, child.name, way)
            if entry is not None:
                names.add_known(child.name, entry)

    def _known_or_entry(
        self, known: Mapping[str, Entry], descriptor: int, path: str, way: WayDown, name: str
    ) -> Entry | None:
        """The entry of a name, which ends in ``/`` if it was a directory's when it was read."""
        if known and name in known:
            return known[name]
        return self._entry(descriptor, path, name[:-1] if name[-1] == "/" else name, way)

    def _entry(self, descriptor: int, path: str, name: str, way: WayDown) -> Entry | None:
        found = stat_or_none(descriptor, name)
        if found is None:
            return None
        if self._follower:
            return self._follower.entry(path + name, found, way, self._device)
        return entry_of(path + name, found, self._device, made=self._made)
