"""Directories that no entry names: which lie above a path, and what mode each gets."""

from __future__ import annotations

import stat
from collections.abc import Iterator

DEFAULT_DIRECTORY_MODE = 0o755
# The mode of a new directory until it gets its own. The sticky bit has no effect if no other user may write. It tells
# such a directory from a private one: a stopped run leaves it, and the next run recognizes it.
UNFINISHED_MODE = stat.S_ISVTX | stat.S_IRWXU


def is_unfinished(mode: int) -> bool:
    """Whether a directory has the mode of a new one; a set-gid bit comes from the directory above."""
    return mode & 0o1777 == UNFINISHED_MODE


def mode_not_told(mode: int) -> int:
    """The mode of a directory at the destination that neither source nor request tells one, where it has ``mode`` now.

    A new one gets the default, with the set-gid bit that it has from above; another one keeps its own.
    """
    if is_unfinished(mode):
        return DEFAULT_DIRECTORY_MODE | mode & stat.S_ISGID
    return stat.S_IMODE(mode)


def parent_of(path: str) -> str:
    """The directory that an entry lies in directly; empty for the root."""
    return path[: path.rfind("/", 0, -1) + 1]


def parents_of(path: str) -> Iterator[str]:
    """The directories above a path, topmost first, each with its ``/``."""
    end = path.find("/") + 1
    while 0 < end < len(path):
        yield path[:end]
        end = path.find("/", end) + 1


def mode_without_owner(mode: int | None) -> int:
    """The mode of a directory that the request leaves out, from its ``mode`` at the source: the default, or narrower.

    The function's user owns it, so its group gets only what both group and others have at the source.
    """
    if mode is None:
        return DEFAULT_DIRECTORY_MODE
    shared = mode >> 3 & mode & stat.S_IRWXO
    return DEFAULT_DIRECTORY_MODE & (stat.S_IRWXU | shared << 3 | shared)
