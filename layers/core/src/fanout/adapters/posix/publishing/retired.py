"""Removing a version that was taken away, whatever its size: as far as the time lets, and on from there later."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS
from fanout.adapters.posix.publishing.made_directories import MadeDirectories
from fanout.adapters.posix.removal import is_removed, is_unlinked, some_of
from fanout.facts import tuning
from fanout.model.deadline import Deadline
from fanout.ports.versions import Removal
from fanout.work.parallel import side_by_side

# Entries of a directory that are held in memory, and after which the clock is looked at.
_AT_ONCE = 256
# Chosen: entries of a directory that stay, in memory; those after them wait for the next publisher.
_STAYING = 10_000
# A directory that was moved up, by its inode.
MOVED_UP = re.compile(r"[.]([0-9]{1,20})-[0-9a-f]{16}")


class _ForeignError(Exception):
    """A directory that no run is known to have made."""


def remove_retired(above: int, name: str, version: str, deadline: Deadline, look: Callable[[], None]) -> Removal:
    """Remove a directory with all that it holds of the ``version`` that it was.

    Directories further down are moved up into it before they are read, so neither the stack nor the number of
    descriptors grows with the depth, and as many as operations may be in flight are emptied side by side. ``look``
    is called before each step, and raises for a run that may not write. What this NFS client holds open stays, and what
    others write there meanwhile: it goes when the next run publishes. Directories of others are left for good: see
    ``made_directories``.
    """
    try:
        with _opened(above, name, lambda _: True) as top:
            removal = _RetiredTree(top, name, MadeDirectories(above, version), deadline)
            done = removal.empty(look)
    except FileNotFoundError:
        return Removal(done=True)
    if done:
        with suppress(FileNotFoundError):
            is_removed(name, above)
    return Removal(done, tuple(sorted(removal.left)))


class _RetiredTree:
    def __init__(self, top: int, name: str, made: MadeDirectories, deadline: Deadline) -> None:
        self._top, self._name, self._made, self._deadline = top, name, made, deadline
        self._top_found = os.fstat(top)
        self.left: list[str] = []

    def empty(self, look: Callable[[], None]) -> bool:
        """Remove what the top holds; false where the time is up."""
        staying: set[str] = set()
        while len(staying) < _STAYING and (entries := some_of(self._top, _AT_ONCE, staying)):
            if self._deadline.passed:
                return False
            look()
            gone = side_by_side(self._remove, entries, tuning.CLIENT_OPERATIONS_IN_FLIGHT)
            staying.update(entry.name for entry, is_gone in zip(entries, gone, strict=True) if not is_gone)
        return True

    def _remove(self, entry: os.DirEntry[str]) -> bool:
        """Remove an entry of the top; of a directory what there is time for, and then itself."""
        with suppress(FileNotFoundError):
            if not entry.is_dir(follow_symlinks=False):
                return is_unlinked(entry.name, self._top)
            try:
                with _opened(self._top, entry.name, lambda found: self._is_made(entry.name, found)) as directory:
                    if not self._emptied(directory, entry.name):
                        return True
            except _ForeignError:
                self.left.append(f"{self._name}/{entry.name}")
                return False
            return is_removed(entry.name, self._top)
        return True

    def _is_made(self, name: str, found: os.stat_result) -> bool:
        """Whether to go into a directory of the top: by its inode, if the name says which one was moved up."""
        moved_up = MOVED_UP.fullmatch(name)
        if moved_up is None or self._made.is_noted(found):
            return self._made.holds(found, self._top_found)
        return self._made.are_kept(self._top_found) and int(moved_up[1]) == found.st_ino

    def _emptied(self, directory: int, name: str) -> bool:
        """Remove what a directory of the top holds; false where the time is up."""
        staying: set[str] = set()
        found = os.fstat(directory)
        while len(staying) < _STAYING and (entries := some_of(directory, _AT_ONCE, staying)):
            if self._deadline.passed:
                return False
            staying.update(one.name for one in entries if not self._is_gone(directory, found, one, name))
        return True

    def _is_gone(self, directory: int, found: os.stat_result, entry: os.DirEntry[str], place: str) -> bool:
        """Remove an entry of a directory of the top; a directory in it is moved up."""
        with suppress(FileNotFoundError):
            if not entry.is_dir(follow_symlinks=False):
                return is_unlinked(entry.name, directory)
            try:
                self._move_up(directory, found, entry.name)
            except _ForeignError:
                self.left.append(f"{self._name}/{place}/{entry.name}")
                return False
        return True

    def _move_up(self, directory: int, above: os.stat_result, name: str) -> None:
        """Others may put another one in its place before it is moved: then it is left where it is found next."""
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode) or not self._made.holds(found, above):
            raise _ForeignError(name)
        new = f".{found.st_ino}-{secrets.token_hex(8)}"
        try:
            os.rename(name, new, src_dir_fd=directory, dst_dir_fd=self._top)
        except PermissionError:
            with _opened(directory, name, lambda one: os.path.samestat(one, found)):
                os.rename(name, new, src_dir_fd=directory, dst_dir_fd=self._top)


@contextmanager
def _opened(above: int, name: str, is_made: Callable[[os.stat_result], bool]) -> Iterator[int]:
    """A directory that its owner may empty and move, whatever its mode in the version was; others' modes stay.

    Raises ``_ForeignError`` for one that is not to be gone into.
    """
    found = os.open(name, os.O_PATH | DIRECTORY_FLAGS, dir_fd=above)
    try:
        stats = os.fstat(found)
        if not is_made(stats):
            raise _ForeignError(name)
        if stats.st_mode & stat.S_IRWXU != stat.S_IRWXU:
            Path(f"/proc/self/fd/{found}").chmod(stat.S_IMODE(stats.st_mode) | stat.S_IRWXU)
        directory = os.open(".", DIRECTORY_FLAGS, dir_fd=found)
    finally:
        os.close(found)
    try:
        yield directory
    finally:
        os.close(directory)
