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
from fanout.adapters.posix.listing.stats import require_place
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.looks import look_anew
from fanout.adapters.posix.write_protected import WriteProtected
from fanout.model.entry import Attributes, Entry
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import is_unfinished, mode_not_told


class FinishedDirectories:
    """The directories below ``root``; each is the one of the entry's inode, or ``Reason.DESTINATION_CHANGED``.

    One that the listing saw (``replaces``) may be what a stopped run left under another name: see ``MadeMarks``.
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
                require_place(os.fstat(descriptor), entry)
        except OSError as error:
            if error.errno in GONE | STALE:
                problem = "the directory that its files went into is not there any more"
                raise ItemError(Reason.DESTINATION_CHANGED, problem) from error
            raise destination_error("stat", error) from error

    def set_attributes(self, entry: Entry, attributes: Attributes) -> None:
        """Set the attributes of a directory, if it is the one that has the path now. Raises ``ItemError``."""
        try:
            with self._held_now(entry) as descriptor:
                self._token.look()
                found = require_place(os.fstat(descriptor), entry)
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
                if found.st_mode & 0o777 == stat.S_IRWXU:
                    require_place(found, entry)
                    if entry.replaces and mode & 0o077:  # else it stays closed to all others
                        self._marks.require(self._root + entry.path, found, marked=True)
                    os.fchmod(descriptor, mode | found.st_mode & stat.S_ISGID)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise self._token.error("attributes", error) from error

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
