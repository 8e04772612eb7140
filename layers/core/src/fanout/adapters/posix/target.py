"""A file being written below a root: by one function, or in blocks by several; renamed when it is whole."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from fanout.adapters.posix.attributes import apply_attributes, creation_mode, group_by_place, open_staged, send_written
from fanout.adapters.posix.errors import destination_error
from fanout.adapters.posix.fencing.noted_removal import one_name
from fanout.adapters.posix.fencing.own import against_file
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.shared_descriptor import SharedDescriptor
from fanout.adapters.posix.staging import Staging
from fanout.facts.units import KIB
from fanout.model.entry import Attributes, Entry
from fanout.model.errors import ItemError
from fanout.model.shard import Receipt
from fanout.request.parts.allowed_attributes import Allowed
from fanout.work.progress import FILES, moved

# Smaller holes save too little for their operations.
CHUNK_BYTES = 64 * KIB
_ZEROS = bytes(CHUNK_BYTES)

DEFAULT_FILE_MODE = 0o644


def write_all(descriptor: int, data: bytes, offset: int) -> int:
    """Write every byte but whole chunks of zeros, which stay holes; returns where the last write ended."""
    if len(data) < CHUNK_BYTES and os.pwrite(descriptor, data, offset) == len(data):
        return offset + len(data)
    view = memoryview(data)
    written_until = 0
    for start, end in runs_of_data(data):
        while start < end:
            start += os.pwrite(descriptor, view[start:end], offset + start)
            moved(FILES)
        written_until = offset + end
    return written_until


class FileTarget:
    """A regular file of the size of ``entry``; see ``ports.tree.Target``. Whole chunks of zeros stay holes."""

    keeps_holes = takes_pieces = True

    def __init__(
        self, directories: Directories, staging: Staging, path: str, entry: Entry, attributes: Attributes
    ) -> None:
        self._directories = directories
        self._path = path
        self._attributes = attributes
        self._size, self._named = entry.size, bool(entry.inode)
        self._written_until = 0
        self._staging = staging
        staged_directory, self._staged_name = staging.place()
        own = DEFAULT_FILE_MODE if attributes.mode is None else attributes.mode
        mode = creation_mode(own, uid=attributes.uid, gid=attributes.gid)
        try:
            self._staged = directories.hold(staged_directory, create=True)
        except OSError as error:
            raise staging.token.error("create", error) from error
        try:
            self._descriptor, self._found = open_staged(
                self._staged.descriptor, self._staged_name, mode, staging.token.owner
            )
        except OSError as error:
            self._staged.let_go()
            raise staging.token.error("create", error) from error

    def write(self, offset: int, data: bytes) -> None:
        try:
            self._written_until = write_all(self._descriptor, data, offset) or self._written_until
            if self._size > len(data):  # send it now, while the next block is read, and not all at the end
                os.posix_fadvise(self._descriptor, offset, len(data), os.POSIX_FADV_DONTNEED)
        except OSError as error:
            raise destination_error("write", error) from error

    def send(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``; a file system answers at once or not at all."""

    def commit(self, crc64nvme: int) -> None:
        """See ``ports.tree.Target``; closing flushes, and its error is the write's."""
        try:
            if self._written_until:
                send_written(self._descriptor)
            if self._written_until < self._size:
                os.ftruncate(self._descriptor, self._size)
            place = self._staging.above(self._path)
            with place as directory:
                group = group_by_place(self._attributes, self._staged, place)
                apply_attributes(self._descriptor, self._attributes, DEFAULT_FILE_MODE, self._found, group)
                descriptor, self._descriptor = self._descriptor, -1
                os.close(descriptor)
                staged = (self._staged.descriptor, self._staged_name)
                self._staging.move(*staged, directory, self._path, named=self._named)
        except OSError as error:
            raise self._staging.token.error("commit", error) from error
        self._staged_name = ""
        self._staged.let_go()

    def abort(self) -> None:
        """See ``ports.tree.Target``. The removal of the staging directory takes the rest."""
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
        if self._staged_name:
            with suppress(OSError):
                os.unlink(self._staged_name, dir_fd=self._staged.descriptor)
            self._staged_name = ""
            self._staged.let_go()


def runs_of_data(block: bytes) -> Iterator[tuple[int, int]]:
    """The ranges of a block that are left without its whole chunks of zeros, as long as can be.

    A shorter chunk at the end is data, so that a small file needs no operation but its write.
    """
    start = 0
    for chunk in range(0, len(block), CHUNK_BYTES):
        if block.startswith(_ZEROS, chunk):
            if start < chunk:
                yield start, chunk
            start = chunk + CHUNK_BYTES
    if start < len(block):
        yield start, len(block)


_FLAGS = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class StagedBlocks:
    """A ``BlockTarget`` over the staged file ``token``, whose inode is what it answers for each block."""

    keeps_holes = True
    takes_pieces = True

    def __init__(
        self, directories: Directories, staging: Staging, token: str, path: str, entry: Entry, allowed: Allowed
    ) -> None:
        self._directories = directories
        self._staging = staging
        self._right = staging.token
        self._staged = f"{staging.path}big/"
        one_name(token)
        self._token = token
        self._inode = ""
        self._path = path
        self._size, self._named = entry.size, bool(entry.inode)
        self._allowed = allowed
        self._written = SharedDescriptor(self._open_staged)
        self._refused: OSError | None = None

    def _open_staged(self) -> int:
        """The file that an earlier block made, or a new one. Raises ``Superseded`` for one that no block made."""
        with self._directories.hold(self._staged, create=True) as staged:
            try:
                descriptor = os.open(self._token, _FLAGS, dir_fd=staged)
            except FileNotFoundError:
                try:
                    descriptor = os.open(self._token, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=staged)
                except FileExistsError:  # another function's first block made it meanwhile
                    descriptor = os.open(self._token, _FLAGS, dir_fd=staged)
        self._inode = self._looked_at(descriptor)
        return descriptor

    def _looked_at(self, descriptor: int, inode: str = "") -> str:
        """The inode of an open file. Raises ``Superseded`` where it is not the run's own, or not the noted one."""
        found = os.fstat(descriptor)
        problem = against_file(found, self._right.owner, inode)
        if problem:
            os.close(descriptor)
            raise self._right.swapped(f"{self._staged}{self._token}", problem)
        return str(found.st_ino)

    def write(self, index: int, offset: int, data: bytes, crc64nvme: int) -> str:
        """See ``ports.tree.BlockTarget``; the first block that is written makes the file."""
        try:
            with self._written.use() as descriptor, self._noting():
                write_all(descriptor, data, offset)
                os.posix_fadvise(descriptor, offset, len(data), os.POSIX_FADV_DONTNEED)  # send it now
        except OSError as error:
            raise self._right.error("write", error) from error
        return self._inode

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note an error of a write before its descriptor can be closed.

        On NFS it may be that of bytes which another write left to be sent. A kernel tells it once (errseq_t): closing,
        which then succeeds, would have these bytes count.
        """
        try:
            yield
        except OSError as error:
            self._refused = error
            raise

    def sync(self) -> None:
        """See ``ports.tree.BlockTarget``: closing flushes, and its error is that of a write."""
        try:
            self._written.close()
            refused, self._refused = self._refused, None
            if refused is not None:
                raise refused
        except OSError as error:
            raise destination_error("write", error) from error

    def complete(self, receipts: Sequence[Receipt], crc64nvme: int, attributes: Attributes) -> None:
        """See ``ports.tree.BlockTarget``. Done twice it finds the file in its place, and no staged one."""
        attributes = self._allowed.of(attributes, is_directory=False, own=self._staging.token.owner_of_all)
        noted = {receipt.etag for receipt in receipts if receipt.etag}
        try:
            held = self._directories.hold(self._staged)
            with held as staged:
                descriptor = self._opened_whole(staged, noted)
                try:
                    place = self._staging.above(self._path)
                    with place:
                        group = group_by_place(attributes, held, place)
                    os.ftruncate(descriptor, self._size)
                    apply_attributes(descriptor, attributes, DEFAULT_FILE_MODE, group=group)
                finally:
                    os.close(descriptor)
                with self._staging.above(self._path) as directory:
                    self._staging.move(staged, self._token, directory, self._path, named=self._named)
        except (FileNotFoundError, IsADirectoryError) as error:  # the latter while another attempt asks for it again
            if not self._is_in_place(attributes):
                raise self._right.error("commit", error) from error
        except OSError as error:
            raise self._right.error("commit", error) from error

    def _opened_whole(self, staged: int, noted: set[str]) -> int:
        """The file that all blocks were written to. Raises ``FileNotFoundError`` where it has its place already."""
        descriptor = os.open(self._token, _FLAGS, dir_fd=staged)
        found = os.fstat(descriptor)
        if found.st_nlink == 2 and self._is_placed(found):  # an attempt that linked it there, and ended
            os.close(descriptor)
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._token)
        for inode in noted or {""}:
            self._looked_at(descriptor, inode)
        return descriptor

    def _is_placed(self, staged: os.stat_result) -> bool:
        parent, separator, name = self._path.rpartition("/")
        with suppress(OSError), self._directories.hold(parent + separator) as directory:
            return os.path.samestat(staged, os.stat(name, dir_fd=directory, follow_symlinks=False))
        return False

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
