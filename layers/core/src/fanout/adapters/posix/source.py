"""A file or symlink opened for reading, pinned to inode, size, mtime and ctime."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Generator

from msgspec.structs import replace

from fanout.adapters.posix.errors import STALE, source_error
from fanout.adapters.posix.listing.stats import attributes_of
from fanout.model.entry import MARGIN_NS, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.ports.tree import WholeSource
from fanout.work.progress import FILES, moved

# Without O_NONBLOCK a FIFO that was put in the file's place would be waited for.
FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


# Opening asks the server for the attributes, later the client may answer from its cache. The next run sees a change
# within half of the margin of a comparison.
FRESH_SECONDS = MARGIN_NS / 2 / 1_000_000_000


def is_as_listed(found: os.stat_result, entry: Entry) -> bool:
    """Whether it is the regular file that was listed, with the size, mtime and ctime that it had then.

    An owner can put size and mtime back after a rewrite in place, but not the ctime.
    """
    times = found.st_ctime_ns == entry.changed_ns and found.st_mtime_ns == entry.mtime_ns
    same = times and found.st_size == entry.size and stat.S_ISREG(found.st_mode)
    return same and entry.inode in ("", str(found.st_ino))


def is_as_followed(found: os.stat_result, entry: Entry) -> bool:
    """As ``is_as_listed``, of a file that may lie behind a symlink: ``changed_ns`` is then that of the younger one.

    A change after the listing makes the file younger than both.
    """
    return found.st_ctime_ns <= entry.changed_ns and is_as_listed(found, replace(entry, changed_ns=found.st_ctime_ns))


def _never() -> bool:
    return False


class FileSource:
    """The ``Source`` of a file, given its descriptor. Raises ``ItemError`` if it is not the one that was listed.

    ``is_gone`` asks the server whether nothing has the name of the file any more.
    """

    def __init__(
        self,
        descriptor: int,
        entry: Entry,
        monotonic: Callable[[], float] = time.monotonic,
        is_same: Callable[[os.stat_result, Entry], bool] = is_as_listed,
        is_gone: Callable[[], bool] = _never,
    ) -> None:
        self._entry = entry
        self._is_gone = is_gone
        self._is_same = is_same
        self._monotonic = monotonic
        self._opened_at = monotonic()
        self._descriptor = descriptor
        self._data_until = 0
        try:
            self.attributes = attributes_of(self._pinned())
        except ItemError:
            self.close()
            raise

    def _pinned(self) -> os.stat_result:
        try:
            found = os.fstat(self._descriptor)
        except OSError as error:
            raise self._failed("stat", error) from error
        if not self._is_same(found, self._entry):
            raise ItemError(Reason.SOURCE_CHANGED, "size, mtime, ctime, kind or inode is not what was listed")
        return found

    def read(self, offset: int, length: int) -> bytes:
        wanted = max(0, min(length, self._entry.size - offset))
        blocks: list[bytes] = []
        while wanted:
            try:
                block = os.pread(self._descriptor, wanted, offset)
            except OSError as error:
                raise self._failed("read", error) from error
            moved(FILES)
            if len(block) == wanted and not blocks:
                return block
            if not block:
                raise ItemError(Reason.SOURCE_CHANGED, "the file ends before its listed size")
            blocks.append(block)
            offset, wanted = offset + len(block), wanted - len(block)
        return b"".join(blocks)

    def stream(self, offset: int, length: int) -> Generator[bytes]:
        """See ``ports.tree.Source``; a file is read at once."""
        yield self.read(offset, length)

    def zeros_at(self, offset: int) -> int:
        """See ``ports.tree.Source``; a hole is asked for once, and until its end not again."""
        if offset < self._data_until:
            return 0
        try:
            data = os.lseek(self._descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return max(0, self._entry.size - offset)
            self._data_until = self._entry.size  # the file system cannot tell, so everything is data
            return 0
        if data == offset:
            self._data_until = self._hole_after(offset)
        return data - offset

    def _hole_after(self, offset: int) -> int:
        try:
            return os.lseek(self._descriptor, offset, os.SEEK_HOLE)
        except OSError as error:
            raise self._failed("seek", error) from error

    def confirm(self, crc64nvme: int | None) -> None:
        """See ``ports.tree.Source``; a file system keeps no checksum, so the inode's attributes decide."""
        if self._monotonic() - self._opened_at > FRESH_SECONDS:
            from fanout.adapters.posix.paths.fresh import refresh_attributes  # brings ctypes, for files that take long

            try:
                refresh_attributes(self._descriptor)
            except OSError as error:
                raise self._failed("stat", error) from error
        self._pinned()

    def _failed(self, operation: str, error: OSError) -> ItemError:
        if error.errno in STALE and self._is_gone():
            return ItemError(Reason.SOURCE_VANISHED, "the file is no longer there")
        return source_error(operation, error)

    def close(self) -> None:
        os.close(self._descriptor)


class LinkSource(WholeSource):
    """The ``Source`` of a symlink; its bytes are its target.

    The target of an inode never changes, so a descriptor of it pins both: what is renamed over the name meanwhile is
    another inode.
    """

    def __init__(self, directory: int, name: str, entry: Entry) -> None:
        try:
            descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
            try:
                found = os.fstat(descriptor)
                is_link = stat.S_ISLNK(found.st_mode)
                self._target = os.fsencode(os.readlink("", dir_fd=descriptor)) if is_link else b""
            finally:
                os.close(descriptor)
        except OSError as error:
            raise source_error("readlink", error) from error
        pinned = (entry.mtime_ns, entry.changed_ns, entry.size)
        if not is_link or (found.st_mtime_ns, found.st_ctime_ns, len(self._target)) != pinned:
            raise ItemError(Reason.SOURCE_CHANGED, "target, mtime, ctime or kind is not what was listed")
        self.attributes = attributes_of(found)

    def read(self, offset: int, length: int) -> bytes:
        return self._target[offset : offset + length]


class DirectorySource(WholeSource):
    """The ``Source`` of a directory; it has attributes and no bytes."""

    def __init__(self, directory: int) -> None:
        try:
            self.attributes = attributes_of(os.fstat(directory))
        except OSError as error:
            raise source_error("stat", error) from error

    def read(self, offset: int, length: int) -> bytes:
        return b""


def open_source(
    directory: int, name: str, entry: Entry, is_gone: Callable[[], bool]
) -> FileSource | LinkSource | DirectorySource:
    """The entry opened by its kind; of a directory, ``directory`` is its own descriptor."""
    if entry.kind is Kind.DIRECTORY:
        return DirectorySource(directory)
    if entry.kind is Kind.SYMLINK:
        return LinkSource(directory, name, entry)
    descriptor = os.open(name, FILE_FLAGS | os.O_NOFOLLOW, dir_fd=directory)
    return FileSource(descriptor, entry, is_gone=is_gone)
