"""A lock and a row of numbers that all threads of a function's processes share, by a file of no name."""

from __future__ import annotations

import fcntl
import os
import threading
from functools import cache


class OneAtATime:
    """A lock that is tried and never waited for, of all threads and of the processes that share it."""

    def __init__(self) -> None:
        self._file = _file_of_no_name()
        self._threads = threading.Lock()

    def begin(self) -> bool:
        """Take the lock if it is free; then ``end`` must follow."""
        if not self._threads.acquire(blocking=False):
            return False
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._threads.release()
            return False
        return True

    def end(self) -> None:
        """Let another one take it. The lock of a process that dies ends by itself."""
        fcntl.lockf(self._file, fcntl.LOCK_UN)
        self._threads.release()


def share_between_processes() -> None:
    """Have the processes that are forked from this one share one lock and one row of numbers, and none of before."""
    _file_of_no_name.cache_clear()
    _file_of_no_name()


@cache
def _file_of_no_name() -> int:
    """A file of no name, whose locks are a process's own. Closing any descriptor of it would end them (fcntl(2))."""
    return os.memfd_create("renaming", os.MFD_CLOEXEC)


def next_number() -> int:
    """Another number in each thread of this process and of those that share the file's position with it.

    Their process ids would not do: threads take from the same numbers, so those of the processes lie anywhere.
    """
    return os.lseek(_file_of_no_name(), 1, os.SEEK_CUR)
