"""Directories of the function's user that lack its own right to write, made writable for the time of a run.

Go, Nix and bazel make such directories (mode 0555), and ``chmod -w`` does. Root needs no right; a plain user behind an
access point can put no name into them, nor take one out. As rsync does, a run gives the owner the right. It takes
nothing from others and gives them nothing.

A note in the run's staging directory has the mode from before, and is there first. Whoever removes the staging
directory, the run itself or a later one that fences it, gives each noted directory its mode back before.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from fanout.adapters.posix.errors import GONE
from fanout.adapters.posix.fencing.fencing_token import LATER, FencingToken
from fanout.adapters.posix.fencing.notes import read_note, write_note
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.model.errors import ItemError, Superseded
from fanout.model.path_rules import is_no_place

NOTES = f"{LATER}opened"
_WRITE_AND_ENTER = stat.S_IWUSR | stat.S_IXUSR
# The octal mode, the inode and the path in the mount.
_NOTE = re.compile(rb"([0-7]{1,4}) (\d+) (.+/)", re.DOTALL)


class WriteProtected:
    """Opens write-protected directories below the root of a run; ``directories`` are those of its mount."""

    def __init__(self, directories: Directories, token: FencingToken, root: str) -> None:
        self._directories, self._token, self._root = directories, token, root
        self._notes = f"{token.path}{NOTES}/"
        self._has_notes: bool | None = None

    def open(self, path: str, descriptor: int) -> bool:
        """Make a directory writable for its owner; whether an operation that was denied there may work now.

        ``path`` ends in ``/``. False for the root and what is above it, another user's directory, and one that is
        writable already and was not opened. Raises ``OSError``, and ``Superseded`` where the run may not write.
        """
        found = os.fstat(descriptor)
        if path == self._root or not path.startswith(self._root) or path.startswith(self._token.path):
            return False
        with self._directories.hold(self._token.path) as staging:
            if os.fstat(staging).st_uid != found.st_uid:
                return False
        name = _name_of(path)
        with self._directories.hold(self._notes, create=True) as notes:
            if found.st_mode & _WRITE_AND_ENTER == _WRITE_AND_ENTER:
                return _exists(notes, name)  # by another thread or attempt
            note = b"%o %d %s" % (stat.S_IMODE(found.st_mode), found.st_ino, os.fsencode(path))
            write_note(notes, name, note, replaces=True)  # one from before it was last closed
        self._has_notes = True
        _set_mode(descriptor, found.st_mode | stat.S_IRWXU)
        if not self._token.is_there():
            _set_mode(descriptor, found.st_mode)
            raise Superseded(self._token.run_id)
        return True

    def forget(self, path: str) -> None:
        """The run gives a directory the attributes of its source: it does not get its former mode back."""
        if self._has_notes is None:
            with suppress(OSError, ItemError), self._directories.hold(self._token.path) as staging:
                self._has_notes = _exists(staging, NOTES)
        if self._has_notes:
            with suppress(OSError, ItemError), self._directories.hold(self._notes) as notes:
                os.unlink(_name_of(path), dir_fd=notes)

    def close(self, place: str, staging: int) -> None:
        """Give every directory that a run opened its mode back; ``staging`` is its open staging directory in ``place``.

        A directory that has another mode by now, or another owner, stays as it is, and so does another directory of its
        name. Raises ``OSError``.
        """
        try:
            notes = os.open(NOTES, DIRECTORY_FLAGS, dir_fd=staging)
        except OSError as error:
            if error.errno in GONE:
                return
            raise
        try:
            self._close_noted(place, notes)
        finally:
            os.close(notes)

    def _close_noted(self, place: str, notes: int) -> None:
        found = [(name, *note) for name in os.listdir(notes) if (note := _noted_in(notes, name)) is not None]
        # A directory may close the way to those in it.
        for name, path, mode, inode in sorted(found, key=lambda one: -one[1].count("/")):
            if path.startswith(place) and path != place:
                self._close_one(path, mode, (os.fstat(notes).st_uid, inode))
            os.unlink(name, dir_fd=notes)

    def _close_one(self, path: str, mode: int, own: tuple[int, int]) -> None:
        with suppress(FileNotFoundError, NotADirectoryError, ItemError):
            self._directories.forget(path)
            with self._directories.hold(path) as descriptor:
                found = os.fstat(descriptor)
                opened = stat.S_IFDIR | mode | stat.S_IRWXU
                is_open = found.st_mode | stat.S_IRWXG | stat.S_IRWXO == opened | stat.S_IRWXG | stat.S_IRWXO
                is_wider = found.st_mode & ~opened  # a run may have closed it to others meanwhile
                if is_open and not is_wider and (found.st_uid, found.st_ino) == own:
                    _set_mode(descriptor, mode & found.st_mode)


def _name_of(path: str) -> str:
    return sha256(os.fsencode(path)).hexdigest()


def _exists(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _noted_in(notes: int, name: str) -> tuple[str, int, int] | None:
    """The path, former mode and inode of a note; ``None`` for what is not one, or was not written whole."""
    found = read_note(notes, name, _NOTE)
    if found is None:
        return None
    mode, inode, path = int(found[1], 8), int(found[2]), os.fsdecode(found[3])
    is_whole = _name_of(path) == name and not is_no_place(path) and mode & _WRITE_AND_ENTER != _WRITE_AND_ENTER
    return (path, mode, inode) if is_whole else None


def _set_mode(descriptor: int, mode: int) -> None:
    """Also of a directory that was only entered (``O_PATH``), where fchmod(2) is refused."""
    Path(f"/proc/self/fd/{descriptor}").chmod(stat.S_IMODE(mode))
