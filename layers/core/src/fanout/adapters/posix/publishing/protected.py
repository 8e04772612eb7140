"""Keeps the versions, notes and link of a published tree from every run but a publishing one.

The publisher's note lies next to the versions, so the tree is found from wherever it is reached.
"""

from __future__ import annotations

import os

from fanout.adapters.posix.errors import GONE
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.looks import look_anew
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.request.parts.publish import INSIDE_VERSIONS, PUBLISHER, roots_in


def published_tree_of(directories: Directories, path: str) -> str | None:
    """The root of the published tree whose versions hold a path of the mount; ``None`` for none. Raises ``OSError``."""
    return next((root for root in roots_in(path) if _is_published(directories, root)), None)


def published_above(directories: Directories, path: str) -> str | None:
    """The same for an end of a run; empty where the mount shows nothing but the versions, and so hides their name.

    Raises ``OSError``.
    """
    found = published_tree_of(directories, path)
    return "" if found is None and _holds_note(directories, "") else found


def keep_published(directories: Directories, path: str, link: int | None = None) -> None:
    """Raise ``ItemError`` for a path of the mount that belongs to a published tree.

    ``link`` is the open directory that holds the path, if it is a symlink. Raises ``OSError``.
    """
    tree = published_tree_of(directories, path)
    if tree is None and link is not None:
        above, slash, name = path.rpartition("/")
        if os.readlink(name, dir_fd=link).startswith(INSIDE_VERSIONS) and _is_published(directories, above + slash):
            tree = above + slash
    if tree is not None:
        raise ItemError(Reason.PUBLISHED, f"/{tree} holds the versions")


def _is_published(directories: Directories, root: str) -> bool:
    return _holds_note(directories, f"{root}{INSIDE_VERSIONS}")


def _holds_note(directories: Directories, path: str) -> bool:
    try:
        look_anew(directories, path)  # another client may have published there since
        with directories.hold(path) as versions:
            os.stat(PUBLISHER, dir_fd=versions, follow_symlinks=False)
    except ItemError:  # a symlink in the path: no version lies there
        return False
    except OSError as error:
        if error.errno not in GONE:
            raise
        return False
    return True
