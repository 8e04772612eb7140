"""Entries of another kind in the way of a copy, which a sync replaces where its request says so.

A directory in the way of a file or a symlink is moved into the run's staging directory, and goes with it. A file or
symlink in the way of a directory is unlinked.

| what is in the way                                                   | then                         |
|----------------------------------------------------------------------|------------------------------|
| it, or anything in it, came or changed after the run began           | stays: destination changed   |
| it belongs to a published tree, or holds one                         | stays: part of one           |
| it holds a directory that the function's user cannot empty           | stays: another kind of entry |
| the request does not replace other kinds                             | stays: another kind of entry |
| anything else                                                        | goes                         |

A directory in the run's staging directory has the moment at which the run began, by the clock of the file system.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial

from fanout.adapters.posix.fencing.fencing_token import LATER, FencingToken
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.adapters.posix.paths.looks import look_at
from fanout.adapters.posix.publishing.protected import keep_published
from fanout.model.errors import ItemError, Superseded
from fanout.model.outcome import Reason
from fanout.request.parts.publish import PUBLISHER

BEGAN = f"{LATER}began"
_REPLACED = f"{LATER}replaced"
# Chosen: each level is open while it is looked through, and a function has 1,024 descriptors.
_MOST_LEVELS = 100


class OtherKinds:
    """Makes way for copies below the root of a run; ``directories`` are those of its mount."""

    def __init__(self, directories: Directories, token: FencingToken) -> None:
        self._directories, self._token = directories, token
        self._began_ns: int | None = None

    def begin(self) -> None:
        """Note when the run begins, once, in its staging directory. Raises ``OSError`` or ``ItemError``."""
        self._directories.hold(f"{self._token.path}{BEGAN}/", create=True).let_go()

    def make_way(self, path: str) -> bool:
        """Remove what has the name of an entry at a path, given without ``/``; whether nothing has it now.

        Raises ``ItemError`` for what must stay, ``Superseded``, and ``OSError``.
        """
        try:
            found = look_at(self._directories, path)
        except FileNotFoundError:
            return True
        above, slash, name = path.rpartition("/")
        with self._directories.hold(above + slash) as directory:
            self._ask(path, found, directory)
            if stat.S_ISDIR(found.st_mode):
                self._look_through(directory, name)
            if not self._token.is_there():
                raise Superseded(self._token.run_id)
            remove = partial(self._set_aside if stat.S_ISDIR(found.st_mode) else _unlink, path, name, directory)
            try:
                remove()
            except PermissionError:
                if not self._directories.on_denied(above + slash, directory):
                    raise
                remove()
        return True

    def _set_aside(self, path: str, name: str, directory: int) -> None:
        """Move a directory into the run's staging directory, which is removed at the end of the run."""
        self._directories.forget(f"{path}/")
        with self._directories.hold(f"{self._token.path}{_REPLACED}/", create=True) as replaced:
            os.rename(name, secrets.token_hex(8), src_dir_fd=directory, dst_dir_fd=replaced)

    def _ask(self, path: str, found: os.stat_result, directory: int) -> None:
        as_directory = f"{path}/" if stat.S_ISDIR(found.st_mode) else path
        keep_published(self._directories, as_directory, directory if stat.S_ISLNK(found.st_mode) else None)
        self._is_old(found)

    def _is_old(self, found: os.stat_result) -> None:
        """Raise ``ItemError`` for what was not there, as it is now, when the run began."""
        if self._began_ns is None:
            with self._directories.hold(self._token.path) as staging:
                self._began_ns = os.stat(BEGAN, dir_fd=staging, follow_symlinks=False).st_ctime_ns
        if found.st_ctime_ns >= self._began_ns:
            raise ItemError(Reason.DESTINATION_CHANGED, "an entry of another kind came there, or changed")

    def _look_through(self, directory: int, name: str) -> None:
        """Raise ``ItemError`` unless everything in a directory may go with it."""
        with ExitStack() as opened:
            levels = [_entered(directory, name, opened)]
            while levels:
                below, names = levels[-1]
                entry = next(names, None)
                if entry is None:
                    levels.pop()
                    continue
                found = os.stat(entry.name, dir_fd=below, follow_symlinks=False)
                self._is_old(found)
                if entry.name == PUBLISHER:
                    raise ItemError(Reason.PUBLISHED, "it holds a published tree")
                if stat.S_ISDIR(found.st_mode):
                    if len(levels) >= _MOST_LEVELS:
                        raise ItemError(Reason.DESTINATION_KIND, f"it is over {_MOST_LEVELS} directories deep")
                    levels.append(_entered(below, entry.name, opened))


def _unlink(_path: str, name: str, directory: int) -> None:
    os.unlink(name, dir_fd=directory)


def _entered(above: int, name: str, opened: ExitStack) -> tuple[int, Iterator[os.DirEntry[str]]]:
    """A directory and its entries, if the function's user can take them out; root can, whatever the mode."""
    if not os.access(name, os.W_OK | os.X_OK, dir_fd=above, effective_ids=True, follow_symlinks=False):
        raise ItemError(Reason.DESTINATION_KIND, "it holds a directory that the function's user cannot empty")
    descriptor = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    opened.callback(os.close, descriptor)
    return descriptor, opened.enter_context(os.scandir(descriptor))
