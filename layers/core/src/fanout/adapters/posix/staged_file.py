"""A staged file: a new one, which its attempt alone has; and what was written to it sent to the server."""

from __future__ import annotations

import errno
import os


def open_staged(directory: int, name: str, mode: int) -> tuple[int, os.stat_result]:
    """A new file, open for writing, that no other attempt can have made.

    Without O_EXCL, which costs NFS one more operation: the directory and the name belong to this attempt, and a file
    that was there already has bytes or another name.
    """
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
    try:
        found = os.fstat(descriptor)
        if found.st_nlink != 1 or found.st_size:
            raise FileExistsError(errno.EEXIST, "a staged file was there already")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, found


def send_written(descriptor: int) -> None:
    """Send the server what was written, and keep none of it in memory; an error is the write's.

    To be called before attributes are set. Linux's NFS client doubts what it knows of a file whose attributes it set
    while it held pages of it, and asks ACCESS before it links the file. A change of owner or mode has it ask anyway.
    """
    os.close(os.dup(descriptor))  # closing flushes, as the last one does
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
