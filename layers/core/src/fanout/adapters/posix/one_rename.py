"""A lock that is tried and never waited for, among the threads of a process and the processes that it forks."""

from __future__ import annotations

import fcntl
import os
import threading
from functools import cache


class OneRename:
    """Says who renames. Made before processes are forked, it is one for all of them."""

    def __init__(self) -> None:
        self._file = _file()
        self._threads = threading.Lock()

    def begin(self) -> bool:
        """Whether nobody else renames now; then ``end`` must follow."""
        if not self._threads.acquire(blocking=False):
            return False
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._threads.release()
            return False
        return True

    def end(self) -> None:
        """Let another one rename. The lock of a process that dies ends by itself."""
        fcntl.lockf(self._file, fcntl.LOCK_UN)
        self._threads.release()


@cache
def _file() -> int:
    """A file of no name, whose locks are a process's own. Closing any descriptor of it would end them (fcntl(2))."""
    return os.memfd_create("renaming", os.MFD_CLOEXEC)
