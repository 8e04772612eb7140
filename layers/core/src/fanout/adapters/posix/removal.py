"""Removing a directory with all that it holds, whatever its depth, also from under a function that writes to it."""

from __future__ import annotations

import errno
import os
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice

from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.facts import tuning
from fanout.model.errors import Transient

# Entries of a directory that are held in memory; it is read again for those after them.
_AT_ONCE = 1_000
# Chosen: half the time of CheckMount. A function that writes loses its own directories one by one, and then stops.
REMOVAL_SECONDS = 60.0
_PAUSE_SECONDS = 0.05
_CHANGED_MEANWHILE = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ESTALE)


def remove_tree(above: int, name: str) -> None:
    """Remove what stands under a name of an open directory; what is gone already counts as removed.

    A symlink goes itself, and nothing that it leads to. Directories further down are moved up into this one before
    they are read, so neither the stack nor the number of descriptors grows with the depth.
    """
    with suppress(FileNotFoundError):
        try:
            top = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
        except NotADirectoryError:
            os.unlink(name, dir_fd=above)
            return
        try:
            while entries := _some(top):
                for one in entries:
                    _remove(top, one, top)
        finally:
            os.close(top)
        os.rmdir(name, dir_fd=above)


def _some(directory: int) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as found:
        return list(islice(found, _AT_ONCE))


def _remove(directory: int, entry: os.DirEntry[str], top: int) -> None:
    """Remove an entry of a directory; a directory that lies deeper than ``top`` is moved there."""
    with suppress(FileNotFoundError):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=directory)
            return
        if directory != top:
            os.rename(entry.name, f".{secrets.token_hex(8)}", src_dir_fd=directory, dst_dir_fd=top)
            return
        below = os.open(entry.name, DIRECTORY_FLAGS, dir_fd=top)
        try:
            while entries := _some(below):
                for one in entries:
                    _remove(below, one, top)
        finally:
            os.close(below)
        os.rmdir(entry.name, dir_fd=top)


def remove_directory(above: int, name: str, *, keep: bool = False) -> None:
    """Remove a directory with all that is in it, or with ``keep`` only what is in it.

    A directory that is gone counts as removed.

    A symlink is not followed. Raises ``Transient`` where others go on writing to it for ``REMOVAL_SECONDS``, and
    ``OSError``: ``NotADirectoryError`` for anything else of that name, which is left.
    """
    until = time.monotonic() + REMOVAL_SECONDS
    while not _removed(above, name, keep):
        if time.monotonic() > until:
            raise Transient(f"{name} is written to by a function of an attempt that has not ended")
        time.sleep(_PAUSE_SECONDS)


def _removed(above: int, name: str, keep: bool) -> bool:
    """A single pass; false if something was made in the meantime."""
    try:
        directory = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    except FileNotFoundError:
        return True
    try:
        with ThreadPoolExecutor(tuning.CLIENT_OPERATIONS_IN_FLIGHT) as pool:
            whole = all(list(pool.map(lambda path: _is_removed(directory, path), os.listdir(directory))))
    finally:
        os.close(directory)
    return whole if keep else _is_gone(above, name)


def _is_removed(directory: int, path: str) -> bool:
    try:
        os.unlink(path, dir_fd=directory)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        return _is_emptied(directory, path)
    return True


def _is_emptied(directory: int, path: str) -> bool:
    try:
        remove_tree(directory, path)
    except OSError as error:
        if error.errno not in _CHANGED_MEANWHILE:
            raise
        return False
    return True


def _is_gone(above: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=above)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in _CHANGED_MEANWHILE:
            raise
        return False
    return True
