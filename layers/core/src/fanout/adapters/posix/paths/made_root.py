"""The directories that a run makes on the way to its root, and removes where it is refused after that."""

from __future__ import annotations

import os

from fanout.adapters.posix.paths.directories import Directories
from fanout.model.path_rules import parent_of


def first_missing(directories: Directories, root: str) -> str:
    """The first directory on the way to a root that is not there; empty where the root is. Raises as ``hold``."""
    there = directories.nearest(root)
    return "" if there == root else f"{there}{root[len(there) :].partition('/')[0]}/"


def unmake(directories: Directories, root: str, made: str) -> None:
    """Remove the root, and those above it down from ``made``, as far as they are empty."""
    path = root
    while made and path.startswith(made):
        above = parent_of(path)
        try:
            with directories.hold(above) as held:
                os.rmdir(path[len(above) : -1], dir_fd=held)
        except OSError:  # it holds something, which is another client's, or it is gone
            return
        directories.forget(path)
        path = above
