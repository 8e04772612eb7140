"""Deleting what was listed and nothing else, below a root and never through a symlink."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from fanout.adapters.posix.backup import Backup
from fanout.adapters.posix.errors import destination_error
from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.adapters.posix.listing.stats import entry_of
from fanout.adapters.posix.paths.directories import Directories
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason

_GONE = (errno.ENOENT, errno.ENOTDIR)
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)


def delete_listed(
    directories: Directories,
    root: str,
    entries: Sequence[Entry],
    token: FencingToken,
    backup: Backup | None = None,
    *,
    at_source: bool = False,
) -> dict[str, ItemError]:
    """See ``ports.tree.Tree.delete``. Between the look at an entry and its end somebody may still write to it."""
    problems = {}
    for entry in entries:
        try:
            _delete(directories, root + entry.path, entry, token, backup, at_source=at_source)
        except ItemError as error:
            problems[entry.path] = error
        except OSError as error:
            if error.errno not in _GONE:
                problems[entry.path] = _error("unlink", error, at_source=at_source)
    return problems


def _delete(
    directories: Directories,
    path: str,
    listed: Entry,
    token: FencingToken,
    backup: Backup | None,
    *,
    at_source: bool,
) -> None:
    parent, separator, name = path.rpartition("/")
    with directories.hold(parent + separator) as directory:
        stats = os.stat(name, dir_fd=directory, follow_symlinks=False)
        found = entry_of(listed.path, stats)
        pinned = (found.kind, found.size, found.mtime_ns) == (listed.kind, listed.size, listed.mtime_ns)
        if not pinned or found.kind is Kind.DIRECTORY or (at_source and not _is_listed_file(stats, listed)):
            reason = Reason.SOURCE_CHANGED if at_source else Reason.DESTINATION_CHANGED
            raise ItemError(reason, "it has another size, time or kind than was listed")
        token.look()
        if backup is not None:
            backup.keep(directory, path)
            token.look()  # the link may have taken long
        os.unlink(name, dir_fd=directory)


def _is_listed_file(found: os.stat_result, listed: Entry) -> bool:
    """Whether nobody has written to it since, nor put another file in its place.

    Of a file with several names the inode tells: the ctime moves with each name that goes.
    """
    return str(found.st_ino) == listed.inode if listed.inode else found.st_ctime_ns == listed.changed_ns


def _error(operation: str, error: OSError, *, at_source: bool) -> ItemError:
    problem = destination_error(operation, error)
    if not at_source:
        return problem
    number = error.errno or 0
    reason = Reason.SOURCE_NOT_DELETED if problem.reason is Reason.DESTINATION_DENIED else problem.reason
    return ItemError(reason, f"{operation} at the source: {errno.errorcode.get(number, number)}")


def remove_empty(
    directories: Directories,
    root: str,
    entry: Entry,
    token: FencingToken,
    backup: Backup | None = None,
    *,
    at_source: bool = False,
) -> None:
    """See ``ports.tree.Tree.remove_directory``; ``rmdir`` takes neither a symlink nor what holds anything."""
    path = root + entry.path
    parent, separator, name = path[:-1].rpartition("/")
    try:
        directories.forget(path)
        with directories.hold(parent + separator) as directory:
            token.look()
            if backup is not None:
                backup.keep_directory(path)
                directories.forget(path)
                token.look()
            os.rmdir(name, dir_fd=directory)
    except OSError as error:
        if error.errno in _NOT_EMPTY:
            raise ItemError(Reason.NOT_EMPTY, "it holds an entry that was not deleted") from error
        if error.errno != errno.ENOENT:
            raise _error("rmdir", error, at_source=at_source) from error
