"""Small files from one directory tree to another, with the fewest steps between two operations.

For a file of a few kilobytes, the general way, with an object for each end, costs the interpreter more than the
operations themselves. A source that is not as it was listed is left to the general way, which begins anew and says
what is wrong.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from fanout.adapters.posix.attributes import apply_attributes, creation_mode, open_staged, send_written
from fanout.adapters.posix.listing.stats import attributes_of
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.source import FILE_FLAGS, FRESH_SECONDS, is_as_listed
from fanout.adapters.posix.staging import Staging
from fanout.adapters.posix.target import DEFAULT_FILE_MODE, write_all
from fanout.model.checksum import NO_BYTES, crc64nvme
from fanout.model.entry import Entry
from fanout.model.errors import ItemError

_FLAGS = FILE_FLAGS | os.O_NOFOLLOW


class PosixSmallFiles:
    """``ports.tree.SmallFiles`` between two mounts; each end is its directories and the prefix of an entry's path."""

    def __init__(self, source: tuple[Directories, str], destination: tuple[Directories, str], staging: Staging) -> None:
        self._source, self._source_root = source
        self._destination, self._destination_root = destination
        self._staging = staging

    def copy(self, entry: Entry) -> int | None:
        try:
            read = self._read(entry)
        except (OSError, ItemError):
            return None
        if read is None:
            return None
        self._write(entry, *read)
        return crc64nvme(read[0], NO_BYTES)

    def _read(self, entry: Entry) -> tuple[bytes, os.stat_result] | None:
        parent, slash, name = (self._source_root + entry.path).rpartition("/")
        with self._source.hold(parent + slash) as directory:
            descriptor = os.open(name, _FLAGS, dir_fd=directory)
        try:
            opened_at = time.monotonic()
            found = os.fstat(descriptor)
            if not is_as_listed(found, entry):
                return None
            data = os.pread(descriptor, entry.size, 0) if entry.size else b""
            if len(data) != entry.size or not is_as_listed(os.fstat(descriptor), entry):
                return None
            return (data, found) if time.monotonic() - opened_at < FRESH_SECONDS else None
        finally:
            os.close(descriptor)

    def _write(self, entry: Entry, data: bytes, source: os.stat_result) -> None:
        path = self._destination_root + (entry.target or entry.path)
        staged_directory, staged_name = self._staging.place()
        try:
            with self._destination.hold(staged_directory, create=True) as staged:
                try:
                    _write_staged(staged, staged_name, data, source, self._staging.token.owner)
                    with self._staging.above(path) as directory:
                        self._staging.move(staged, staged_name, directory, path, named=bool(entry.inode))
                except (OSError, ItemError):
                    with suppress(OSError):  # what cannot be removed now goes with the staging directory
                        os.unlink(staged_name, dir_fd=staged)
                    raise
        except OSError as error:
            raise self._staging.token.error("write", error) from error


def _write_staged(directory: int, name: str, data: bytes, source: os.stat_result, owner: int | None) -> None:
    """A staged file with all bytes and attributes; closing flushes, and its error is the write's.

    The bytes are fewer than a hole has, so all of them are written and the size need not be set.
    """
    descriptor, found = open_staged(
        directory, name, creation_mode(source.st_mode, uid=source.st_uid, gid=source.st_gid), owner
    )
    try:
        if data:
            write_all(descriptor, data, 0)
            send_written(descriptor)
        if (source.st_mode, source.st_uid, source.st_gid) == (found.st_mode, found.st_uid, found.st_gid):
            os.utime(descriptor, ns=(source.st_atime_ns, source.st_mtime_ns))
        else:
            apply_attributes(descriptor, attributes_of(source), DEFAULT_FILE_MODE, found)
    except OSError:
        with suppress(OSError):
            os.close(descriptor)
        raise
    os.close(descriptor)
