"""Removing a directory with all that it holds, whatever its depth, also from under a function that writes to it."""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import chain, islice

from fanout.adapters.posix.errors import HELD, HOLDS, STALE, TAKEN
from fanout.adapters.posix.fencing.own import MARK
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.facts import tuning
from fanout.model.errors import Transient
from fanout.work.parallel import side_by_side
from fanout.work.progress import FILES, moved

# Entries of a directory that are held in memory; it is read again for those after them.
_AT_ONCE = 1_000
# Directories that are emptied side by side, each of which is open meanwhile.
_OPEN_AT_ONCE = tuning.CLIENT_OPERATIONS_IN_FLIGHT
# Chosen: half the time of CheckMount. A function that writes loses its own directories one by one, and then stops.
REMOVAL_SECONDS = 60.0
_PAUSE_SECONDS = 0.05
# Something was made or removed meanwhile, or is open in this NFS client: it goes in another pass.
_NOT_YET = STALE | HOLDS | HELD | TAKEN | {errno.ENOTDIR}


def remove_tree(above: int, name: str) -> None:
    """Remove what is under a name of an open directory; what is gone already counts as removed.

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
            _empty(top, top)
        finally:
            os.close(top)
        os.rmdir(name, dir_fd=above)


def some_of(directory: int, at_most: int, left_out: Collection[str] = ()) -> list[os.DirEntry[str]]:
    """The first entries of a directory, without those of some names."""
    with os.scandir(directory) as found:
        return list(islice((one for one in found if one.name not in left_out), at_most))


def is_unlinked(name: str, directory: int) -> bool:
    """Unlink a name; false for a file that this NFS client holds open, under the hidden name of an unlinked one."""
    return _is_done(lambda: os.unlink(name, dir_fd=directory), HELD)


def is_removed(name: str, above: int) -> bool:
    """Remove a directory that was emptied; false where it holds something all the same."""
    return _is_done(lambda: os.rmdir(name, dir_fd=above), HOLDS)


def _is_done(remove: Callable[[], object], stays: Collection[int]) -> bool:
    """Whether an operation did it; false where it says so, and for an error of these numbers."""
    try:
        return remove() is not False
    except OSError as error:
        if error.errno not in stays:
            raise
        return False
    finally:
        moved(FILES)


def _is_gone(remove: Callable[[], object]) -> bool:
    """The same in a pass of several; what was removed already counts."""
    with suppress(FileNotFoundError):
        return _is_done(remove, _NOT_YET)
    return True


def _empty(directory: int, top: int) -> None:
    """Remove all that a directory holds but what stays in this pass."""
    staying: set[str] = set()
    while entries := some_of(directory, _AT_ONCE, staying):
        staying.update(one.name for one in entries if not _remove(directory, one, top))


def _remove(directory: int, entry: os.DirEntry[str], top: int) -> bool:
    """Remove an entry of a directory; one that lies deeper than ``top`` is moved there if it is a directory."""
    with suppress(FileNotFoundError):
        if not entry.is_dir(follow_symlinks=False):
            return is_unlinked(entry.name, directory)
        if is_removed(entry.name, directory):  # the directories of a staging directory are empty at its end
            return True
        if directory != top:
            os.rename(entry.name, f".{secrets.token_hex(8)}", src_dir_fd=directory, dst_dir_fd=top)
            return True
        below = os.open(entry.name, DIRECTORY_FLAGS, dir_fd=top)
        try:
            _empty(below, top)
        finally:
            os.close(below)
        return is_removed(entry.name, top)
    return True


def remove_directory(
    above: int, name: str, keep: Collection[str] = (), look: Callable[[int], object] = lambda _: None
) -> None:
    """Remove a directory with all that is in it; with ``keep``, names of entries, only what is in it besides.

    A file that a process of this machine holds open goes from an NFS mount only when that closes it.

    A directory that is gone counts as removed. ``look`` gets the descriptor before anything in it goes, and raises for
    one that is to be left.

    A symlink is not followed. Raises ``Transient`` where others go on writing to it for ``REMOVAL_SECONDS``, and
    ``OSError``: ``NotADirectoryError`` for anything else of that name, which is left.
    """
    until = time.monotonic() + REMOVAL_SECONDS
    while not _removed(above, name, keep, look):
        if time.monotonic() > until:
            raise Transient(f"{name} is written to, or held open, by a function of an attempt that has not ended")
        time.sleep(_PAUSE_SECONDS)


def _removed(above: int, name: str, keep: Collection[str], look: Callable[[int], object]) -> bool:
    """A single pass; false if something was made in the meantime."""
    try:
        directory = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    except FileNotFoundError:
        return True
    try:
        look(directory)
        with os.scandir(directory) as found:
            entries = [one for one in found if one.name not in keep]
        marks = [one.name for one in entries if one.name.startswith(MARK)]
        entries = [one for one in entries if one.name not in marks]
        for start in range(0, len(entries), _OPEN_AT_ONCE):
            _empty_each(directory, entries[start : start + _OPEN_AT_ONCE])
        whole = all(side_by_side(lambda one: _is_gone(lambda: _remove_first(directory, one)), entries, _OPEN_AT_ONCE))
        if whole and not keep:  # last: another attempt finds by them that it may go on
            for mark in marks:
                with suppress(OSError):
                    os.rmdir(mark, dir_fd=directory)
    finally:
        os.close(directory)
    return whole if keep else _is_gone(lambda: os.rmdir(name, dir_fd=above))


def _empty_each(directory: int, entries: Iterable[os.DirEntry[str]]) -> None:
    """Empty the directories among these entries; what cannot go now is left to whoever removes the entry.

    The directory of an attempt holds others. They are emptied side by side: in each, a kernel removes one name after
    the other.
    """
    opened: list[int] = []

    def look(entry: os.DirEntry[str]) -> list[tuple[int, str]]:
        with suppress(OSError):
            opened.append(below := os.open(entry.name, DIRECTORY_FLAGS, dir_fd=directory))
            return [(below, one.name) for one in some_of(below, _AT_ONCE)]
        return []

    def empty(one: tuple[int, str]) -> None:
        with suppress(OSError):
            remove_tree(*one)

    try:
        found = side_by_side(look, [entry for entry in entries if entry.is_dir(follow_symlinks=False)], _OPEN_AT_ONCE)
        side_by_side(empty, chain.from_iterable(found), _OPEN_AT_ONCE)
    finally:
        for below in opened:
            os.close(below)


def _remove_first(directory: int, entry: os.DirEntry[str]) -> bool:
    """Remove an entry; a directory first as an empty one, which one of an attempt is by now."""
    if not entry.is_dir(follow_symlinks=False):
        return is_unlinked(entry.name, directory)
    if not is_removed(entry.name, directory):
        remove_tree(directory, entry.name)
    return True
