"""The mark of a run at its destination, by which another mount that shows the same directory is found out.

It lies in the run's staging directory, because a move makes such a directory at its source too.
"""

from __future__ import annotations

import errno
import os

from fanout.adapters.posix.paths.directories import Directories
from fanout.listing.directories.parents import parent_of
from fanout.model.errors import ItemError, Transient

_NAME = "place"
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def leave_mark(directories: Directories, staging: str) -> None:
    """Make the mark in the run's staging directory. Raises ``OSError`` or ``ItemError``."""
    with directories.hold(f"{staging}{_NAME}/", create=True):
        return


def find_mark(directories: Directories, root: str, name: str) -> str | None:
    """The directory, ``root`` or one above it, whose staging directory of that name holds the mark.

    A staging directory that cannot be entered is another function's, and counts. Raises ``Transient``.
    """
    where = root
    while True:
        if _is_marked(directories, where, name):
            return where
        if not where:
            return None
        where = parent_of(where)


def _is_marked(directories: Directories, where: str, name: str) -> bool:
    try:
        with directories.hold(where) as here:
            return os.stat(f"{name}/{_NAME}", dir_fd=here, follow_symlinks=False) is not None
    except PermissionError:
        return True
    except ItemError as error:
        raise Transient(f"looking for the run's mark in /{where}: {error.message}") from error
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise Transient(f"looking for the run's mark in /{where}: {error.strerror}") from error
