"""The run's staging directory as its fencing token: a run whose directory was removed writes nothing more.

CheckMount makes the directory, once a run, and nothing else ever does. A later run to the same destination removes
it before it lists anything. Renames and links out of a removed directory fail, so what an earlier run's function had
staged cannot become visible, however late that function wakes up. Operations that do not pass through the directory
(mkdir, attributes of directories, unlink, rmdir) check it first.

Once a run's copies have ended, a mark in the directory says so: an attempt that comes late makes no directory of its
own there. It looks for the mark after it has made one, so whoever left the mark finds that directory and removes it.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from fanout.adapters.posix.errors import GONE, STALE, destination_error
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.model.errors import ItemError, Superseded
from fanout.model.path_rules import STAGING_PREFIX

# Chosen: a process asks the server at most four times a second, whatever it makes or deletes.
LOOK_SECONDS = 0.25
# In the run's directory: the mark that copies have ended, and how directories begin of attempts that work after that.
COPIED = "copied"
LATER = "later-"
_GONE = GONE | STALE


class FencingToken:
    """The directory of a run below the root of ``directories``, which then makes no other one without a look at it."""

    def __init__(self, directories: Directories, root: str, run_id: str) -> None:
        self._directories = directories
        self._root = root
        self.run_id = run_id
        self._name = f"{STAGING_PREFIX}{run_id}"
        self._looked_at = 0.0
        self._is_making = False
        self.path = f"{root}{self._name}/"
        directories.before_making = self._before_making
        directories.after_making = self._after_making

    def make(self) -> None:
        """Make the root and the run's directory, where they are missing. For CheckMount alone."""
        self._is_making = True
        try:
            with self._directories.hold(self._root, create=True) as root, suppress(FileExistsError):
                os.mkdir(self._name, 0o700, dir_fd=root)
        finally:
            self._is_making = False
        with self._directories.hold(self.path):  # it is a directory, and no symlink
            return

    def is_there(self) -> bool:
        """Whether the run may write; an open asks the server, not the NFS client's cache. Raises ``OSError``."""
        try:
            with self._directories.hold(self._root) as root:
                os.close(os.open(self._name, DIRECTORY_FLAGS, dir_fd=root))
        except OSError as error:
            if error.errno in _GONE:
                return False
            raise
        return True

    def end_copies(self) -> None:
        """Leave the mark that copies have ended. Raises ``OSError``, and ``ItemError``."""
        with self._directories.hold(self.path) as directory:
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
