"""Which directories of a version a publisher may go into to remove what they hold.

Inside a version directories have the owners and modes of the source. Who owns one can move a directory of somebody else
into it, which he could not empty himself.

| a directory in one that was gone into                                          | is                          |
|--------------------------------------------------------------------------------|-----------------------------|
| of the owner of ``versions/`` or root, to which nobody else may write          | the run's: nobody else puts |
|                                                                                | anything there              |
| of any other user, to which nobody else may write; and it has the same owner   | as if he removed it himself |
| any other; its inode is noted, and it has an owner that is noted with it, or   | the run's                   |
| the owner of ``versions/``, where a run could not give it away                 |                             |
| any other; or on another device                                                | left, with a note           |

``.directories-ID`` next to a version holds the inodes of the directories that its runs made, each of 8 bytes and in
order, then as many owners of 4 bytes. The ledger of these runs may expire before the version goes. The owner shows a
directory of somebody else that got the inode of one that others removed.
"""

from __future__ import annotations

import os
import stat
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import islice

NOTED = ".directories-"
# Chosen: 12 MB. Of more directories the rest is only removed where its owners and modes allow it.
MOST_NOTED = 1_000_000
_OWNERS = 32
_NO_OWNER = (1 << _OWNERS) - 1
_INODES = 1 << 64
_BYTES = 12
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_ROOT = 0
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def noted_bytes(made: Iterable[tuple[str, int | None]]) -> bytes:
    """The content of the note of directories, by their inodes and owners; ``None`` for the run's user."""
    numbers = (
        int(inode) << _OWNERS | (_NO_OWNER if uid is None else uid)
        for inode, uid in made
        if inode.isdecimal() and int(inode) < _INODES and 0 <= (uid or 0) < _NO_OWNER
    )
    found = sorted(islice(numbers, MOST_NOTED))
    inodes, owners = array("Q", (one >> _OWNERS for one in found)), array("I", (one & _NO_OWNER for one in found))
    return _in_file_order(inodes).tobytes() + _in_file_order(owners).tobytes()


def read_noted(above: int, version: str) -> tuple[array[int], array[int]]:
    """The inodes that are noted for a version, and the owners; none where there is no note. Raises ``OSError``."""
    try:
        descriptor = os.open(f"{NOTED}{version}", _READ, dir_fd=above)
    except FileNotFoundError:
        return array("Q"), array("I")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(MOST_NOTED * _BYTES)
    count = len(data) // _BYTES
    inodes, owners = array("Q", data[: count * 8]), array("I", data[count * 8 : count * _BYTES])
    return _in_file_order(inodes), _in_file_order(owners)


def _in_file_order(numbers: array[int]) -> array[int]:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


class MadeDirectories:
    """The directories of one version on its way out; ``above`` is the open directory of all versions."""

    def __init__(self, above: int, version: str) -> None:
        found = os.fstat(above)
        self._user, self._device = found.st_uid, found.st_dev
        self._inodes, self._owners = read_noted(above, version)

    def are_kept(self, above: os.stat_result) -> bool:
        """Whether nobody but the run's user and root gives names to what a directory holds."""
        return above.st_uid in (_ROOT, self._user) and not above.st_mode & _OTHERS_WRITE

    def holds(self, found: os.stat_result, above: os.stat_result) -> bool:
        """Whether to go into the directory ``found`` in one that was gone into."""
        if found.st_dev != self._device:
            return False
        if self.are_kept(above) or (found.st_uid == above.st_uid and not above.st_mode & _OTHERS_WRITE):
            return True
        return self.is_noted(found)

    def is_noted(self, found: os.stat_result) -> bool:
        """Whether a directory is one of those that are noted."""
        first, end = bisect_left(self._inodes, found.st_ino), bisect_right(self._inodes, found.st_ino)
        return first < end and found.st_uid in (self._user, *self._owners[first:end])
