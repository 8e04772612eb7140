"""Which directories and files are the run's own: by what is open, never by a name.

| asked of                 | it must be                                                                         |
|--------------------------|------------------------------------------------------------------------------------|
| a staging directory      | of the inode and the owner that the ledger has noted; nobody else may write to it; |
|                          | before anything in it is removed: it holds the mark that is noted                  |
| a directory below it     | of that owner; nobody else may write to it                                         |
| a staged file            | a regular file of that owner, with one name                                        |
| the file of a big copy   | the same, and of the inode that its blocks were written to                         |
| a directory whose names  | of that owner; nobody else may write to it, so nobody else made or moved a name    |
| are removed with content | in it                                                                              |

The owner is the user that the server makes files for: an access point or a squash may set another than the function's.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

from msgspec.structs import replace

from fanout.model.file_system import Staged

# How the names of marks begin; they stay when copies have ended, and are removed last.
MARK = "later-own-"
REUSED = "is another directory than the run made, with the number of its inode"
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotOursError(Exception):
    """Something of another user, or that no note of ours says we made, has the name of what is ours."""


def owner_here(directory: int) -> int:
    """The user that the server makes files for: the owner of one that is made for this question. Raises ``OSError``."""
    name = f"own-{secrets.token_hex(8)}"
    descriptor = os.open(name, _MAKE, 0o600, dir_fd=directory)
    try:
        return os.fstat(descriptor).st_uid
    finally:
        os.close(descriptor)
        with suppress(OSError):  # it goes with the directory
            os.unlink(name, dir_fd=directory)


def group_here(directory: int) -> int:
    """The group that the server gives what is made: not that of a set-group-id directory. Raises ``OSError``."""
    found = os.fstat(directory)
    if not found.st_mode & stat.S_ISGID:
        return found.st_gid
    name = f"own-{secrets.token_hex(8)}"
    os.mkdir(name, 0o700, dir_fd=directory)
    try:
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.fchmod(below, 0o700)
            os.mkdir(name, 0o700, dir_fd=below)
            try:
                return os.stat(name, dir_fd=below, follow_symlinks=False).st_gid
            finally:
                os.rmdir(name, dir_fd=below)
        finally:
            os.close(below)
    finally:
        with suppress(OSError):  # it goes with the directory
            os.rmdir(name, dir_fd=directory)


def mark(directory: int, staged: Staged, prefix: str = MARK) -> Staged:
    """Make a mark in a directory: another one in it, of a name that nobody can guess. Raises ``OSError``."""
    name = f"{prefix}{secrets.token_hex(16)}"
    os.mkdir(name, 0o700, dir_fd=directory)
    return replace(staged, mark=name)


def is_marked(directory: int, staged: Staged) -> bool:
    """Whether an open directory holds the mark that was noted; one that was noted without any does. Raises ``OSError``.

    Asked before anything in it is removed.
    """
    if not staged.mark:
        return True
    with suppress(FileNotFoundError):
        return os.stat(staged.mark, dir_fd=directory, follow_symlinks=False).st_uid == staged.owner
    return False


def against(found: os.stat_result, staged: Staged) -> str:
    """Why a directory is not the staging directory that was noted; empty for that one."""
    if str(found.st_ino) != staged.inode:
        return f"is another directory than the run made{_whose(found)}"
    return against_owner(found, staged.owner)


def against_marked(directory: int, staged: Staged) -> str:
    """The same of an open directory, whose mark is looked for: a removed inode gives its number to another one.

    Raises ``OSError``.
    """
    problem = against(os.fstat(directory), staged)
    return problem or ("" if is_marked(directory, staged) else REUSED)


def against_owner(found: os.stat_result, owner: int) -> str:
    """Why others than ``owner`` may have put something into a directory; empty if nobody else may."""
    if not stat.S_ISDIR(found.st_mode):
        return "is no directory"
    if found.st_uid != owner or found.st_mode & _OTHERS_WRITE:
        return f"is not the run's user's alone{_whose(found)}"
    return ""


def against_file(found: os.stat_result, owner: int | None, inode: str = "") -> str:
    """Why a staged file is not the one that a function of the run made; empty for that one.

    ``owner`` is ``None`` where it is not known, ``inode`` empty for a file of which nothing was noted.
    """
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        return "is no file with one name"
    if owner is not None and found.st_uid != owner:
        return f"is not the run's user's{_whose(found)}"
    return "is another file than blocks were written to" if inode not in ("", str(found.st_ino)) else ""


def _whose(found: os.stat_result) -> str:
    return f" (owner {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o})"
