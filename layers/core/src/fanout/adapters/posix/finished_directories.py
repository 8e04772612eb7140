"""Gives directories of a mount their attributes when their content is there: by inode, never by name alone."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fanout.adapters.posix.attributes import apply_attributes
from fanout.adapters.posix.errors import GONE, STALE, destination_error
from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.adapters.posix.fencing.made_marks import MadeMarks
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.looks import look_anew
from fanout.adapters.posix.write_protected import WriteProtected
from fanout.model.entry import Attributes, Entry
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import is_taken, is_unfinished, mode_not_told

_OTHER = "another directory was put in the place of the one that its files went into"
_UNKNOWN = "the run neither listed nor made it: look at what is in it, and start the run again"
_ROOT = 0


class FinishedDirectories:
    """The directories below ``root``; each is the one of the entry's inode, or ``Reason.DESTINATION_CHANGED``.

    A number that was free may be given to a directory of another user, so its owner is compared too: one that the run
    made is of the run's user or, once it is set, of the owner that the source gives it; and so is one that the listing
    saw (``replaces``), because others were taken from their owners: see ``Closing``. Where the run keeps no owners, and
    for a directory that its own new owner removed and made again, nothing can tell.
    One that the listing saw may be what a stopped run left under another name: see ``MadeMarks``.
    """

    def __init__(
        self, directories: Directories, token: FencingToken, opened: WriteProtected, marks: MadeMarks, root: str
    ) -> None:
        self._directories, self._token, self._opened, self._root = directories, token, opened, root
        self._marks = marks
        self._began: float | None = None

    def require(self, entry: Entry) -> None:
        """Raise ``ItemError`` unless the directory of its inode has the entry's path."""
        try:
            with self._held_now(entry) as descriptor:
                found = os.fstat(descriptor)
                self._require_place(found, entry, None if is_unfinished(found.st_mode) else found.st_uid)
        except OSError as error:
            if error.errno in GONE | STALE:
                problem = "the directory that its files went into is not there any more"
                raise ItemError(Reason.DESTINATION_CHANGED, problem) from error
            raise destination_error("stat", error) from error

    def set_attributes(self, entry: Entry, attributes: Attributes, *, is_closed: bool) -> None:
        """Set the attributes of a directory, if it is the one that has the path now. Raises ``ItemError``."""
        try:
            with self._held_now(entry) as descriptor:
                self._token.look()
                found = os.fstat(descriptor)
                self._require_place(found, entry, attributes.uid, is_closed=is_closed and attributes.mode is not None)
                if entry.replaces and is_unfinished(found.st_mode):
                    self._marks.require(self._root + entry.path, found, marked=False)
                self._opened.forget(self._root + entry.path)
                apply_attributes(descriptor, attributes, mode_not_told(found.st_mode), found)
        except OSError as error:
            raise self._token.error("attributes", error) from error

    def open(self, entry: Entry, mode: int) -> None:
        """Give a new directory its mode; one that is missing, or has another mode, is left. Raises ``ItemError``.

        Without the sticky bit, which a file system may drop when a directory is made. Nobody asks whether the name is
        still right: what was put into it is looked at by ``require``.
        """
        try:
            with self._directories.hold(self._root + entry.path) as descriptor:
                self._token.look()
                found = os.fstat(descriptor)
                is_closed = found.st_mode & 0o777 == stat.S_IRWXU
                if is_closed or entry.inode == str(found.st_ino):
                    self._require_place(found, entry, None)
                if is_closed:
                    if entry.replaces and mode & 0o077:  # else it stays closed to all others
                        self._marks.require(self._root + entry.path, found, marked=True)
                    os.fchmod(descriptor, mode | found.st_mode & stat.S_ISGID)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise self._token.error("attributes", error) from error

    def _require_place(self, found: os.stat_result, entry: Entry, owner: int | None, *, is_closed: bool = True) -> None:
        """Raise ``ItemError`` unless a directory is the one of the entry's inode, which the run saw or made.

        ``owner`` is what it has or gets, ``None`` where that is the one that made it. ``is_closed``: a listed one was
        taken from any other.
        """
        if entry.inode != str(found.st_ino):
            raise ItemError(Reason.DESTINATION_CHANGED, _OTHER if entry.inode else _UNKNOWN)
        own = self._token.owner_of_all()
        if entry.replaces:
            is_of_others = own == _ROOT and is_closed and owner is not None and found.st_uid not in (own, owner)
        else:
            is_of_others = is_taken(found.st_mode) or (own is not None and found.st_uid not in (own, owner))
        if is_of_others:
            raise ItemError(Reason.DESTINATION_CHANGED, _OTHER)

    @contextmanager
    def _held_now(self, entry: Entry) -> Iterator[int]:
        """The directory that the server has under the entry's path. Raises ``OSError``.

        In the short way this tree has just put files there: what it knew of names then says nothing about now.
        """
        if self._began is None:
            self._began = time.monotonic()
        look_anew(self._directories, self._root + entry.path, self._began)
        with self._directories.hold(self._root + entry.path) as descriptor:
            yield descriptor
