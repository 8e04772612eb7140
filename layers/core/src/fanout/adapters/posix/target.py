"""A file being written: staged, given its attributes, moved to its place."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from fanout.adapters.posix.attributes import apply_attributes, creation_mode, group_by_place, open_staged, send_written
from fanout.adapters.posix.errors import destination_error
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.staging import Staging
from fanout.facts.units import KIB
from fanout.model.entry import Attributes

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
        written_until = offset + end
    return written_until


class FileTarget:
    """A regular file of ``size`` bytes; see ``ports.tree.Target``. Whole chunks of zeros stay holes."""

    keeps_holes = takes_pieces = True

    def __init__(
        self, directories: Directories, staging: Staging, path: str, size: int, attributes: Attributes
    ) -> None:
        self._directories = directories
        self._path = path
        self._attributes = attributes
        self._size = size
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
            self._descriptor, self._found = open_staged(self._staged.descriptor, self._staged_name, mode)
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
                self._staging.move(self._staged.descriptor, self._staged_name, directory, self._path)
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
