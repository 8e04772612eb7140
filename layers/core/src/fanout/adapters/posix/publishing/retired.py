"""Removing a version that was taken away, whatever its size: as far as the time lets, and on from there later."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.adapters.posix.removal import is_removed, is_unlinked, some_of
from fanout.facts import tuning
from fanout.model.deadline import Deadline
from fanout.work.parallel import side_by_side

# Entries of a directory that are held in memory, and after which the clock is looked at.
_AT_ONCE = 256


def remove_retired(above: int, name: str, deadline: Deadline, look: Callable[[], None]) -> bool:
    """Remove a directory with all that it holds; whether all of it was removed in time.

    Directories further down are moved up into it before they are read, so neither the stack nor the number of
    descriptors grows with the depth, and as many as operations may be in flight are emptied side by side. ``look``
    is called before each step, and raises for a run that may not write. What this NFS client holds open stays, and what
    others write there meanwhile: it goes when the next run publishes.
    """
    try:
        top = _opened(above, name)
    except FileNotFoundError:
        return True
    try:
        staying: set[str] = set()
        while entries := some_of(top, _AT_ONCE, staying):
            if deadline.passed:
                return False
            look()
            gone = side_by_side(
                lambda entry: _remove(top, entry, deadline), entries, tuning.CLIENT_OPERATIONS_IN_FLIGHT
            )
            staying.update(entry.name for entry, is_gone in zip(entries, gone, strict=True) if not is_gone)
    finally:
        os.close(top)
    with suppress(FileNotFoundError):
        is_removed(name, above)
    return True


def _remove(top: int, entry: os.DirEntry[str], deadline: Deadline) -> bool:
    """Remove an entry of the top; of a directory what there is time for, and then itself."""
    with suppress(FileNotFoundError):
        if not entry.is_dir(follow_symlinks=False):
            return is_unlinked(entry.name, top)
        directory = _opened(top, entry.name)
        staying: set[str] = set()
        try:
            while entries := some_of(directory, _AT_ONCE, staying):
                if deadline.passed:
                    return True
                staying.update(one.name for one in entries if not _empty(directory, one, top))
        finally:
            os.close(directory)
        return is_removed(entry.name, top)
    return True


def _empty(directory: int, entry: os.DirEntry[str], top: int) -> bool:
    with suppress(FileNotFoundError):
        if not entry.is_dir(follow_symlinks=False):
            return is_unlinked(entry.name, directory)
        name = f".{secrets.token_hex(8)}"
        try:
            os.rename(entry.name, name, src_dir_fd=directory, dst_dir_fd=top)
        except PermissionError:
            os.close(_opened(directory, entry.name))
            os.rename(entry.name, name, src_dir_fd=directory, dst_dir_fd=top)
    return True


def _opened(above: int, name: str) -> int:
    """A directory that its owner may empty and move, whatever its mode in the version was."""
    found = os.open(name, os.O_PATH | DIRECTORY_FLAGS, dir_fd=above)
    try:
        if os.fstat(found).st_mode & stat.S_IRWXU != stat.S_IRWXU:
            Path(f"/proc/self/fd/{found}").chmod(stat.S_IRWXU)
        return os.open(".", DIRECTORY_FLAGS, dir_fd=found)
    finally:
        os.close(found)
