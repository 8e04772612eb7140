"""The entries below a directory in the order of S3 keys."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import replace

from fanout.adapters.posix.directories import Directories
from fanout.adapters.posix.follow import NO_WAY, Follower, Way
from fanout.adapters.posix.stats import entry_of, inode_of
from fanout.domain.entries import Entry, Kind
from fanout.domain.errors import ItemError, ListingIncomplete, Transient
from fanout.domain.names import STAGING_PREFIX
from fanout.domain.pruning import Prunes, no_pruning
from fanout.domain.segments import Segment


def list_segment(
    directories: Directories, root: str, segment: Segment, prunes: Prunes = no_pruning, *, follow: bool = False
) -> Iterator[Entry]:
    """The segment's entries below ``root`` (a path of ``directories``), depth first, sorted by their bytes.

    A directory counts with its ``/``, so that the order is that of keys. Memory is
    bounded by the largest directories on one path down the tree. What ``prunes`` tells of is not opened.
    Raises ``Transient`` for an error of the file system that may pass, ``ListingIncomplete`` for any other.
    """
    try:
        yield from _Listing(directories, root, follow).entries(segment, prunes)
    except ItemError as error:
        raise Transient(f"listing stopped below /{root}{segment.prefix}: {error.message}") from error
    except OSError as error:
        number = error.errno or 0
        problem = f"listing stopped below /{root}{segment.prefix}: {errno.errorcode.get(number, number)}"
        if number in (errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.EINTR, errno.EAGAIN):
            raise Transient(problem) from error
        raise ListingIncomplete(problem) from error


class _Listing:
    """One listing; ``device`` is the file system of the root, in which an inode's number is its identity."""

    def __init__(self, directories: Directories, root: str, follow: bool) -> None:
        self._directories, self._root = directories, root
        self._follower = Follower(directories, root) if follow else None
        self._device = -1

    def entries(self, segment: Segment, prunes: Prunes) -> Iterator[Entry]:
        """See ``list_segment``."""
        after, until = os.fsencode(segment.after), os.fsencode(segment.until)
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
            key = entry.sort_key
            if until and key >= until:
                return
            pruned = entry.kind is Kind.DIRECTORY and prunes(entry.path)
            if key > after and entry.kind is Kind.DIRECTORY and not pruned:
                entry = self._checked(entry)
            if not pruned and entry.kind is Kind.DIRECTORY and (key > after or after.startswith(key)):
                down = self._follower.down(way, entry.path) if self._follower else NO_WAY
                stack.append((self._children(entry.path, down), down))
            if key > after:
                yield entry

    def _top(self, prefix: str, way: Way) -> Iterator[Entry]:
        """The directory that is the segment's prefix, or what the root holds."""
        if not prefix:
            yield from self._children("", way)
            return
        parent, slash, name = prefix[:-1].rpartition("/")
        try:
            with self._directories.hold(self._root + parent + slash) as descriptor:
                entry = self._entry(descriptor, parent + slash, name, way)
        except (FileNotFoundError, NotADirectoryError):
            return
        if entry is not None and entry.kind is Kind.DIRECTORY:
            yield entry

    def _checked(self, entry: Entry) -> Entry:
        """The directory, or that it can not be listed: both its names and what they stand for must be readable."""
        try:
            with self._directories.hold(self._root + entry.path) as descriptor:
                os.stat(".", dir_fd=descriptor)
            return entry
        except PermissionError:
            return Entry(entry.path, Kind.UNLISTABLE, 0, entry.mtime_ns, entry.changed_ns)
        except (FileNotFoundError, NotADirectoryError):
            return entry

    def _children(self, path: str, way: Way) -> Iterator[Entry]:
        """The direct children in order; none where the directory is no longer there."""
        try:
            with self._directories.hold(self._root + path) as descriptor, os.scandir(descriptor) as found:
                names = [child.name for child in found if path or not child.name.startswith(STAGING_PREFIX)]
                entries = [entry for name in names if (entry := self._entry(descriptor, path, name, way)) is not None]
        except (FileNotFoundError, NotADirectoryError):
            return
        entries.sort(key=lambda entry: entry.sort_key)
        yield from entries

    def _entry(self, descriptor: int, path: str, name: str, way: Way) -> Entry | None:
        try:
            found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if self._follower:
            return self._follower.entry(path + name, found, way)
        return replace(entry_of(path + name, found), inode=inode_of(found, self._device))


def find_entry(directories: Directories, root: str, path: str) -> Entry | None:
    """The entry of one path below ``root``; none below what is no directory, or can not be searched.

    Raises ``Transient`` where the file system does not answer.
    """
    plain = path.removesuffix("/")
    parent, separator, name = (root + plain).rpartition("/")
    try:
        with directories.hold(parent + separator) as descriptor:
            entry = entry_of(plain, os.stat(name, dir_fd=descriptor, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError, PermissionError, ItemError):  # the last: a symlink on the way
        return None
    except OSError as error:
        raise Transient(f"stat: {error.strerror}") from error
    return entry if entry.path == path else None
