"""The run's staging directory as its fencing token: a run whose directory was removed writes nothing more.

CheckMount makes the directory, once a run, and nothing else ever does. A later run to the same destination removes
it before it lists anything. Renames and links out of a removed directory fail, so what an earlier run's function had
staged cannot become visible, however late that function wakes up. Operations that do not pass through the directory
(mkdir, attributes of directories, unlink, rmdir) check it first.

The directory is the one that CheckMount noted in the ledger (see ``own``). One that has its name, and is another, is
not entered: who may write to the root could read what is staged there, and give any file its place.

Once a run's copies have ended, a mark in the directory says so: an attempt that comes late makes no directory of its
own there. It looks for the mark after it has made one, so whoever left the mark finds that directory and removes it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress

from fanout.adapters.posix.errors import DENIED, GONE, STALE, destination_error
from fanout.adapters.posix.fencing.own import (
    MARK,
    NotOursError,
    against,
    against_owner,
    group_here,
    is_marked,
    mark,
    owner_here,
)
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.model.errors import ItemError, Superseded, Transient
from fanout.model.file_system import Staged
from fanout.model.path_rules import STAGING_PREFIX

# Chosen: a process asks the server at most four times a second, whatever it makes or deletes.
LOOK_SECONDS = 0.25
# In the run's directory: the mark that copies have ended, and how directories begin of attempts that work after that.
COPIED = "copied"
LATER = "later-"
# In the run's directory: the mark by which another mount that shows the same directory is found out.
PLACE = "place"
_GONE = GONE | STALE


class FencingToken:
    """The directory of a run below the root of ``directories``, which then makes no other one without a look at it."""

    def __init__(self, directories: Directories, root: str, run_id: str) -> None:
        self._directories = directories
        self._root = root
        self.run_id = run_id
        self.name = f"{STAGING_PREFIX}{run_id}"
        self._looked_at = 0.0
        self._is_making = False
        self._is_new = False
        self._known: Staged | None = None
        self._noted: Callable[[], Staged | None] | None = None
        self._group: int | None = None
        self.path = f"{root}{self.name}/"
        directories.before_making = self._before_making
        directories.after_making = self._after_making
        directories.on_entering.append(self._entering)

    def recall(self, noted: Callable[[], Staged | None]) -> None:
        """Take what ``noted`` reads of the ledger for the run's directory, once it is needed."""
        self._noted = noted

    @property
    def has_notes(self) -> bool:
        """Whether the tree is of a run, whose ledger says which directory it made."""
        return self._noted is not None

    def staged(self) -> Staged | None:
        """The run's directory as it is known here or noted; ``None`` if neither says anything."""
        if self._known is None and self._noted is not None:
            self._known = self._noted()
        return self._known

    @property
    def owner(self) -> int | None:
        """The user that the run's files belong to when they are made, once the directory was entered."""
        return None if self._known is None else self._known.owner

    def owner_of_all(self) -> int | None:
        """As ``owner``, noted in the ledger before the directory was entered; ``None`` where nobody could find out."""
        staged = self.staged()
        return None if staged is None or staged.owner < 0 else staged.owner

    def group_here(self) -> int:
        """The group that the server gives what is made where no directory gives its own. Asked for once.

        Raises ``OSError``, ``ItemError`` and ``Superseded``.
        """
        if self._group is None:
            with self._directories.hold(self.path) as staging:
                self._group = group_here(staging)
        return self._group

    def make(self) -> bool:
        """Make the root and the run's directory, where they are missing; whether it was. For CheckMount alone.

        Raises ``NotOursError`` for a directory that another user made, and ``Transient`` for one that the run may have
        made, where nothing is noted.
        """
        self._directories.forget(self.path)
        self._is_making = True
        try:
            with self._directories.hold(self._root, create=True) as root:
                self._is_new = True
                try:
                    os.mkdir(self.name, 0o700, dir_fd=root)
                except FileExistsError:
                    self._is_new = False
            with self._directories.hold(self.path):
                return self._is_new
        finally:
            self._is_making = self._is_new = False

    def is_there(self) -> bool:
        """Whether the run may write; an open asks the server, not the NFS client's cache. Raises ``OSError``."""
        try:
            with self._directories.hold(self._root) as root:
                here = os.open(self.name, DIRECTORY_FLAGS, dir_fd=root)
        except OSError as error:
            if error.errno in _GONE:
                return False
            raise
        try:
            self._enter(here)
        finally:
            os.close(here)
        return True

    def end_copies(self) -> None:
        """Leave the mark that copies have ended. Raises ``OSError``, and ``ItemError``."""
        with self._directories.hold(self.path) as directory:
            if self._known is not None and not is_marked(directory, self._known):
                raise self.swapped(self.path, "is another directory than the run made")
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            os.close(os.open(COPIED, flags, 0o600, dir_fd=directory))

    def look(self) -> None:
        """Raise ``Superseded`` where the run may not write; asks at most every ``LOOK_SECONDS``.

        Raises ``OSError`` where the server does not answer.
        """
        now = time.monotonic()
        if self._looked_at and now - self._looked_at < LOOK_SECONDS:
            return
        if not self.is_there():
            raise Superseded(self.run_id)
        self._looked_at = now

    def confirm(self, error: OSError) -> None:
        """Raise ``Superseded`` where an operation failed because the run's directory is gone: the run is fenced."""
        with suppress(OSError):
            if error.errno in _GONE and not self.is_there():
                raise Superseded(self.run_id) from error

    def error(self, operation: str, error: OSError) -> ItemError | Superseded:
        """Translates a failed operation at the destination."""
        try:
            self.confirm(error)
        except Superseded as fenced:
            return fenced
        return destination_error(operation, error)

    def swapped(self, path: str, problem: str) -> Superseded:
        """The error for something that is not what the run made, in the place of what it did."""
        what = f"/{path.removesuffix('/')} {problem}; somebody who may write to /{self._root} put it there"
        return Superseded(self.run_id, f"{what}: look who may, then start the run again")

    def _before_making(self, path: str) -> None:
        """Below its own directory nothing can be made when that is gone; the root and its own ``make`` alone makes."""
        if self._is_making:
            return
        if self.path.startswith(path):
            raise Superseded(self.run_id)
        if not path.startswith(self.path):
            self.look()

    def _after_making(self, path: str, above: int) -> None:
        """An attempt's own directory, which lies in the run's, is none where copies have ended."""
        name = path.removeprefix(self.path)
        if name == path or name.count("/") != 1 or name.startswith(LATER):
            return
        with suppress(FileNotFoundError):
            os.stat(COPIED, dir_fd=above, follow_symlinks=False)
            raise Superseded(self.run_id)

    def _entering(self, path: str, descriptor: int) -> None:
        """Enter the run's directory, and those below it, only where they are its own; no operation of the server's."""
        if path == self.path:
            self._enter(descriptor)
        elif path.startswith(self.path) and self._known is not None:
            problem = against_owner(os.fstat(descriptor), self._known.owner)
            if problem:
                raise self.swapped(path, problem)

    def _enter(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        staged = None if self._is_new else self.staged()
        if staged is None:
            self._known = self._taken(descriptor, found)
            return
        problem = against(found, staged)
        if problem:
            raise self.swapped(self.path, problem)

    def _taken(self, descriptor: int, found: os.stat_result) -> Staged:
        """A directory of which nothing is noted: one that was made just now, or that can hold nothing of others.

        Outside of CheckMount it is that of a run that began before directories were noted, or of no run.
        """
        try:
            taken = Staged(str(found.st_ino), owner_here(descriptor))
        except OSError as error:
            if error.errno not in DENIED:
                raise
            taken = Staged(str(found.st_ino), -1)
        problem = against(found, taken)
        if problem and not self._is_making:
            raise self.swapped(self.path, problem)
        if problem:
            raise NotOursError(f"/{self.path[:-1]} {problem}")
        if self._is_making and self.has_notes and self._holds_something(descriptor):
            problem = "is there and holds something, and the run's ledger does not say that the run made it"
            raise Transient(f"/{self.path[:-1]} {problem}; remove it, or start the run under another name")
        return mark(descriptor, taken) if self._is_making else taken

    def _holds_something(self, directory: int) -> bool:
        """Whether a directory holds more than another attempt at CheckMount leaves: its marks, and empty files."""
        try:
            with os.scandir(directory) as found:
                others = [one for one in found if not one.name.startswith((PLACE, MARK))]
                return not all(map(_is_empty_file, others))
        except OSError as error:
            raise Transient(f"looking into /{self.path[:-1]}: {error.strerror}") from error


def _is_empty_file(one: os.DirEntry[str]) -> bool:
    with suppress(FileNotFoundError):
        found = one.stat(follow_symlinks=False)
        return stat.S_ISREG(found.st_mode) and not found.st_size
    return True
