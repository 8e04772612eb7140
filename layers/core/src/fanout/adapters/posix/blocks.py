"""A big file being written in blocks by several functions: one staged file, renamed when it is whole."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from fanout.adapters.posix.attributes import apply_attributes, group_by_place
from fanout.adapters.posix.errors import destination_error
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.staging import Staging
from fanout.adapters.posix.target import DEFAULT_FILE_MODE, write_all
from fanout.model.entry import Attributes
from fanout.model.errors import ItemError
from fanout.model.shard import Receipt
from fanout.request.parts.allowed_attributes import Allowed

_FLAGS = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class StagedBlocks:
    """A ``BlockTarget`` over the staged file ``token``."""

    keeps_holes = True
    takes_pieces = True

    def __init__(
        self, directories: Directories, staging: Staging, token: str, path: str, size: int, allowed: Allowed
    ) -> None:
        self._directories = directories
        self._staging = staging
        self._right = staging.token
        self._staged = f"{staging.path}big/"
        self._token = token
        self._path = path
        self._size = size
        self._allowed = allowed
        self._written = SharedDescriptor(self._open_staged)

    def _open_staged(self) -> int:
        with self._directories.hold(self._staged, create=True) as staged:
            return os.open(self._token, _FLAGS | os.O_CREAT, 0o600, dir_fd=staged)

    def write(self, index: int, offset: int, data: bytes, crc64nvme: int) -> str:
        """See ``ports.tree.BlockTarget``; the first block that is written makes the file."""
        try:
            with self._written.use() as descriptor:
                write_all(descriptor, data, offset)
                os.posix_fadvise(descriptor, offset, len(data), os.POSIX_FADV_DONTNEED)  # send it now
        except OSError as error:
            raise self._right.error("write", error) from error
        return ""

    def sync(self) -> None:
        """See ``ports.tree.BlockTarget``: closing flushes, and its error is that of a write."""
        try:
            self._written.close()
        except OSError as error:
            raise destination_error("write", error) from error

    def complete(self, receipts: Sequence[Receipt], crc64nvme: int, attributes: Attributes) -> None:
        """See ``ports.tree.BlockTarget``. Done twice it finds the file in its place, and no staged one."""
        attributes = self._allowed.of(attributes, is_directory=False)
        try:
            held = self._directories.hold(self._staged)
            with held as staged:
                descriptor = os.open(self._token, _FLAGS, dir_fd=staged)
                try:
                    place = self._staging.above(self._path)
                    with place:
                        group = group_by_place(attributes, held, place)
                    os.ftruncate(descriptor, self._size)
                    apply_attributes(descriptor, attributes, DEFAULT_FILE_MODE, group=group)
                finally:
                    os.close(descriptor)
                with self._staging.above(self._path) as directory:
                    self._staging.move(staged, self._token, directory, self._path)
        except (FileNotFoundError, IsADirectoryError) as error:  # the latter while another attempt asks for it again
            if not self._is_in_place(attributes):
                raise self._right.error("commit", error) from error
        except OSError as error:
            raise self._right.error("commit", error) from error

    def _is_in_place(self, attributes: Attributes) -> bool:
        parent, separator, name = self._path.rpartition("/")
        try:
            with self._directories.hold(parent + separator) as directory:
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except OSError:
            return False
        whole = stat.S_ISREG(found.st_mode) and found.st_size == self._size
        return whole and attributes.copied_mtime_ns in (None, found.st_mtime_ns)

    def discard(self) -> None:
        """See ``ports.tree.BlockTarget``. The removal of the staging directory takes the rest.

        Closed first: an NFS client keeps a hidden name of what it holds open, and the directory with it.
        """
        with suppress(OSError):  # of writes that nobody wants any more
            self._written.close()
        with suppress(OSError, ItemError), self._directories.hold(self._staged) as staged:
            os.unlink(self._token, dir_fd=staged)


class _Opened:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.users = 0


class SharedDescriptor:
    """A descriptor that several threads write through. The first that uses it after ``close`` opens it.

    No lock is held while others write.
    """

    def __init__(self, open_file: Callable[[], int]) -> None:
        self._open_file = open_file
        self._changed = threading.Condition()
        self._opened: _Opened | None = None

    @contextmanager
    def use(self) -> Iterator[int]:
        """The descriptor, which stays open meanwhile. Raises ``OSError`` of opening it."""
        with self._changed:
            if self._opened is None:
                self._opened = _Opened(self._open_file())
            opened = self._opened
            opened.users += 1
        try:
            yield opened.descriptor
        finally:
            with self._changed:
                opened.users -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Close it when those that use it now have done so. Raises ``OSError``, which is that of their writes."""
        with self._changed:
            opened, self._opened = self._opened, None
            if opened is None:
                return
            while opened.users:
                self._changed.wait()
        os.close(opened.descriptor)
