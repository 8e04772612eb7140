"""The mark of a run at its destination, by which another mount that shows the same directory is found out.

It lies in the run's staging directory, because a move makes such a directory at its source too.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from fanout.adapters.posix.errors import GONE, LEADS_AWAY
from fanout.adapters.posix.paths.directories import Directories
from fanout.model.directories import parent_of
from fanout.model.errors import ItemError, Transient
from fanout.model.outcome import Reason
from fanout.model.path_rules import STAGING_PREFIX
from fanout.request.parts.publish import INSIDE_VERSIONS

_NAME = "place"
_NOT_THERE = GONE | LEADS_AWAY


def leave_mark(directories: Directories, staging: str) -> None:
    """Make the mark in the run's staging directory. Raises ``OSError`` or ``ItemError``."""
    with directories.hold(f"{staging}{_NAME}/", create=True):
        return


def find_mark(directories: Directories, root: str, name: str) -> str | None:
    """The directory, ``root`` or one above it, whose staging directory of that name holds the mark.

    A staging directory that cannot be entered is another function's, and counts. Raises ``Transient``.
    """
    found = (where for where in (root, *_above(root)) if _stands(directories, where, f"{name}/{_NAME}"))
    return next(found, None)


def find_staged(directories: Directories, root: str, run_ids: Collection[str]) -> str | None:
    """One of the runs that stage in a directory above ``root``, or in the versions beside it. Raises ``Transient``."""
    for where in _above(root):
        for place in (where, f"{where}{INSIDE_VERSIONS}"):
            for run_id in run_ids:
                if _stands(directories, place, f"{STAGING_PREFIX}{run_id}"):
                    return run_id
    return None


def _above(root: str) -> Iterator[str]:
    """The directories of the mount above a directory, the nearest first."""
    while root:
        root = parent_of(root)
        yield root


def _stands(directories: Directories, where: str, path: str) -> bool:
    try:
        with directories.hold(where) as here:
            return os.stat(path, dir_fd=here, follow_symlinks=False) is not None
    except PermissionError:
        return True
    except ItemError as error:
        if error.reason is Reason.LINK_IN_PATH and where.endswith(INSIDE_VERSIONS):
            return False
        raise Transient(f"looking for what a run staged in /{where}: {error.message}") from error
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise Transient(f"looking for what a run staged in /{where}: {error.strerror}") from error
