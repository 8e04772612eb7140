"""A file of a probe."""

from __future__ import annotations

import errno
import os

from fanout.adapters.posix.errors import destination_error


class PosixProbeFile:
    """A ``ProbeFile`` on a mount."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, offset: int, data: bytes | memoryview) -> None:
        try:
            if os.pwrite(self._descriptor, data, offset) != len(data):
                raise OSError(errno.ENOSPC, "a block was written in part")
        except OSError as error:
            raise destination_error("write", error) from error

    def read(self, offset: int, length: int) -> int:
        try:
            return len(os.pread(self._descriptor, length, offset))
        except OSError as error:
            raise destination_error("read", error) from error

    def sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise destination_error("fsync", error) from error

    def forget(self) -> None:
        try:
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError as error:
            raise destination_error("fadvise", error) from error

    def close(self) -> None:
        try:
            os.close(self._descriptor)
        except OSError as error:
            raise destination_error("close", error) from error
