"""Looking up single paths, where an answer that there is nothing may cost an entry its life."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fanout.adapters.posix.errors import NOTHING
from fanout.adapters.posix.listing.stats import entry_of
from fanout.adapters.posix.paths.directories import Directories
from fanout.model.directories import parent_of
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, ItemError, Transient
from fanout.model.outcome import Reason
from fanout.model.path_rules import reason_against_file_path


def find_source(directories: Directories, root: str, path: str) -> Entry | None:
    """The entry at a path of a source, given without ``/`` at its end; ``None`` only where it is certainly nothing.

    The directories above must be real directories that can be searched and are still at their place. Raises
    ``AccessDenied``, ``ItemError`` with ``Reason.SOURCE_CHANGED``, or ``Transient`` where there is no answer.
    """
    if _is_no_name(path):
        return None
    try:
        found = _found(directories, root, path, made=False, tells_names=True)
        if found is None:
            _confirm_parent(directories, root, path)
    except ItemError as error:
        raise ItemError(Reason.SOURCE_CHANGED, error.message) from error
    except NotADirectoryError as error:
        raise ItemError(Reason.SOURCE_CHANGED, "its parent is not a directory") from error
    return found


def find_destination(directories: Directories, root: str, path: str, *, tells_names: bool = False) -> Entry | None:
    """As ``find_source`` at a destination, where nothing lies below a file, nor behind a symlink.

    ``tells_names``: with the inode of a file that has several names, as a listing tells it.
    """
    try:
        return None if _is_no_name(path) else _found(directories, root, path, made=True, tells_names=tells_names)
    except (NotADirectoryError, ItemError):
        return None


def _is_no_name(path: str) -> bool:
    """Whether a path is that of no file; some of these lead out of the root."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return True
    return reason_against_file_path(path) not in (None, Reason.PATH_TOO_DEEP)


def _found(directories: Directories, root: str, path: str, *, made: bool, tells_names: bool) -> Entry | None:
    parent, separator, name = (root + path).rpartition("/")
    with suppress(FileNotFoundError), answered(root + path), directories.hold(parent + separator) as descriptor:
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        return entry_of(path, found, found.st_dev if tells_names else -1, made=made)
    return None


@contextmanager
def answered(path: str) -> Iterator[None]:
    """Errors of looking up a path as those of ``Tree.find``; that there is nothing is an answer."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except PermissionError as error:
        remedy = "give the function search permission on the directories above"
        raise AccessDenied("looking up", f"/{path}"[:1000], f"{remedy} ({error.strerror})") from error
    except OSError as error:
        if error.errno in NOTHING:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        raise Transient(f"stat: {error.strerror}") from error


def _confirm_parent(directories: Directories, root: str, path: str) -> None:
    """Raise unless the nearest directory above a path is still the one that is there, and each above that one."""
    try:
        nearest = directories.nearest(parent_of(root + path))
        in_place = directories.is_in_place(nearest)
    except FileNotFoundError:  # it went between the two
        in_place = False
    except NotADirectoryError:
        raise
    except OSError as error:
        raise Transient(f"stat: {error.strerror}") from error
    if not in_place:
        raise ItemError(Reason.SOURCE_CHANGED, "a parent directory was replaced after it was listed")
    if not nearest.startswith(root):
        raise ItemError(Reason.SOURCE_CHANGED, f"/{root} is not there any more")
