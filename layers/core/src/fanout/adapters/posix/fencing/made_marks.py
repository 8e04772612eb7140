"""The path that each unfinished directory was made for, noted in the run's staging directory by its inode.

A directory of mode 1700 holds what the source may keep from others. Whoever may write in a directory above can give it
another name, and the run, or one that comes after a stopped one, would open it under that name.

| when                                     | then                                                                    |
|------------------------------------------|-------------------------------------------------------------------------|
| only the run's user can rename it        | no mark is needed: see ``KeptNames``                                    |
| a function makes it                      | marks its inode for its path, before anything is put into it            |
| it is there, and marked for this path    | it is the run's own                                                     |
| it is there, empty, and has no mark      | marked now: a function ended before it could                            |
| it is there, and anything else           | it stays closed                                                         |
| a new one has a mark for another path    | the entry fails: others gave its name to another directory meanwhile    |
| a later run fences this one              | takes its marks over, before the staging directory goes                 |

A mark is a symlink, whose name is the inode and which leads to a hash of the path: it is made whole, once, by one
operation, and goes with the staging directory.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256

from fanout.adapters.posix.errors import GONE, HOLDS, LEADS_AWAY
from fanout.adapters.posix.fencing.fencing_token import LATER, FencingToken
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.adapters.posix.paths.kept_names import KeptNames
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason

MADE = f"{LATER}made"
_OWN, _EARLIER = "own", "of-"
# Creations in one directory queue behind each other.
_ROOMS = 8
# Chosen: marks in memory.
_KNOWN = 10_000
_LEFT = (
    "a stopped run left it closed, perhaps under another name: look at what is in it, then run chmod 755 on it"
    " or remove it, and start the run again"
)


class MadeMarks:
    """The marks of a run, and those of the runs that it fenced; ``directories`` are those of the mount.

    Paths are paths of the mount, below ``root`` or not.
    """

    def __init__(self, directories: Directories, token: FencingToken, root: str) -> None:
        self._directories, self._token, self._root = directories, token, root
        self._names = KeptNames(directories)
        self._path = f"{token.path}{MADE}/"
        self._earlier: list[str] | None = None
        self._own: dict[int, str] = {}

    def mark_new(self, path: str, descriptor: int) -> None:
        """Mark a directory that was made now; for ``Directories.on_entering``. Raises ``OSError`` and ``ItemError``."""
        if path not in self._directories.new or not path.startswith(self._root) or path.startswith(self._token.path):
            return
        found = os.fstat(descriptor)
        closed = found.st_mode & 0o777 == stat.S_IRWXU
        if closed and not self._names.keeps(path, found.st_uid) and not self._mark(path, found.st_ino):
            problem = "others gave its name to another directory while it was made"
            raise ItemError(Reason.DESTINATION_CHANGED, problem)

    def is_made_for(self, path: str, descriptor: int, found: os.stat_result) -> bool:
        """Whether a closed directory is the one that was made for this path. Raises ``OSError`` and ``ItemError``."""
        if self._names.keeps(path, found.st_uid):
            return True
        own = self._own_target(found.st_ino)
        if own is None and self._earlier_target(found.st_ino) == _hash_of(path):
            return True
        if own is None and not os.listdir(f"/proc/self/fd/{descriptor}"):
            return self._mark(path, found.st_ino)
        return own == _hash_of(path)

    def require(self, path: str, found: os.stat_result, *, marked: bool) -> None:
        """Raise ``ItemError`` for an unfinished directory that was made for another path.

        ``marked``: also for one that has no mark. Raises ``OSError``.
        """
        if self._names.keeps(path, found.st_uid):
            return
        target = self._own_target(found.st_ino) or self._earlier_target(found.st_ino)
        if target != _hash_of(path) and (marked or target is not None):
            raise ItemError(Reason.DESTINATION_CHANGED, _LEFT)

    def take_over(self, staging: int) -> None:
        """Take over the marks in the open staging directory of another run. Raises ``OSError`` and ``ItemError``."""
        try:
            theirs = os.open(MADE, DIRECTORY_FLAGS, dir_fd=staging)
        except OSError as error:
            if error.errno in GONE | LEADS_AWAY:
                return
            raise
        try:
            with self._directories.hold(self._path, create=True) as here:
                for name in os.listdir(theirs):
                    found = os.stat(name, dir_fd=theirs, follow_symlinks=False)
                    taken = name if name.startswith(_EARLIER) else f"{_EARLIER}{found.st_ino}"
                    _move(name, taken, theirs, here)
        finally:
            os.close(theirs)
        self._earlier = None

    def _mark(self, path: str, inode: int) -> bool:
        """Mark an inode for a path; false where it has a mark for another one."""
        target = _hash_of(path)
        with self._directories.hold(f"{self._path}{_OWN}/{_room_of(inode)}/", create=True) as marks:
            try:
                os.symlink(target, str(inode), dir_fd=marks)
            except FileExistsError:
                return os.readlink(str(inode), dir_fd=marks) == target
        self._remember(inode, target)
        return True

    def _own_target(self, inode: int) -> str | None:
        """The hash that the run's mark of an inode leads to; ``None`` without one."""
        known = self._own.get(inode) or self._read(_OWN, inode)
        if known is not None:
            self._remember(inode, known)
        return known

    def _remember(self, inode: int, target: str) -> None:
        if len(self._own) > _KNOWN:
            self._own.clear()
        self._own[inode] = target

    def _earlier_target(self, inode: int) -> str | None:
        """The same of a mark that an earlier run made."""
        found = (self._read(name, inode) for name in self._earlier_ones())
        return next((one for one in found if one is not None), None)

    def _read(self, of: str, inode: int) -> str | None:
        with suppress(FileNotFoundError), self._directories.hold(f"{self._path}{of}/{_room_of(inode)}/") as marks:
            return os.readlink(str(inode), dir_fd=marks)
        return None

    def _earlier_ones(self) -> list[str]:
        """The earlier runs' marks; only CheckMount takes any over."""
        if self._earlier is None:
            self._earlier = []
            with suppress(FileNotFoundError), self._directories.hold(self._path) as here:
                names = os.listdir(f"/proc/self/fd/{here}")
                self._earlier = sorted(name for name in names if name.startswith(_EARLIER))
        return self._earlier


def _move(name: str, taken: str, theirs: int, here: int) -> None:
    try:
        os.rename(name, taken, src_dir_fd=theirs, dst_dir_fd=here)
    except OSError as error:  # another attempt took them over; or they are on another file system
        if error.errno not in GONE | HOLDS | LEADS_AWAY:
            raise


def _hash_of(path: str) -> str:
    return sha256(os.fsencode(path)).hexdigest()


def _room_of(inode: int) -> int:
    return inode % _ROOMS
