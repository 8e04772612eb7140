"""Opens directories that a run made and that are no entries: they are known by the mode of a new one alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from fanout.model.path_rules import UNFINISHED_MODE, is_unfinished


def open_unfinished(descriptor: int, mode: int, keeps_sticky: Callable[[], bool]) -> None:
    """Give a directory with the mode of a new one its mode; any other stays. ``keeps_sticky`` is of its file system.

    A private directory that somebody gave the name of a new one has no sticky bit.
    """
    found = os.fstat(descriptor).st_mode
    if found & 0o777 == stat.S_IRWXU and (found & stat.S_ISVTX or not keeps_sticky()):
        os.fchmod(descriptor, mode | found & stat.S_ISGID)


def keeps_sticky(directory: int, name: str) -> bool:
    """Tries the mode of a new directory on one made for it; a file system may drop the sticky bit."""
    os.mkdir(name, UNFINISHED_MODE, dir_fd=directory)
    try:
        return is_unfinished(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    finally:
        os.rmdir(name, dir_fd=directory)
