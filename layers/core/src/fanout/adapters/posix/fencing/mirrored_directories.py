"""The directory at the destination that each directory of a backup copies mode and owner from, noted by its inode.

Another user may put a more private directory in its place. Files of that one are not kept in the backup, where more
people could read them. The notes lie in the run's staging directory.
"""

from __future__ import annotations

import os
from hashlib import sha256

from fanout.adapters.posix.fencing.fencing_token import LATER, FencingToken
from fanout.adapters.posix.paths.directories import Directories
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason

MIRRORED = f"{LATER}mirrored"


class MirroredDirectories:
    """The notes of a run, by paths of the mount: symlinks, each of which is made with its content or not at all."""

    def __init__(self, directories: Directories, token: FencingToken) -> None:
        self._directories, self._token = directories, token

    def require(self, path: str, inode: int) -> None:
        """Note the directory at a path, or raise ``ItemError`` where another one was noted. Raises ``OSError`` too."""
        name = sha256(os.fsencode(path)).hexdigest()
        with self._directories.hold(f"{self._token.path}{MIRRORED}/{name[0]}/", create=True) as notes:
            try:
                os.symlink(str(inode), name, dir_fd=notes)
            except FileExistsError:
                if os.readlink(name, dir_fd=notes) != str(inode):
                    raise swapped() from None


def swapped() -> ItemError:
    """The error for a directory of the tree that is another one than the backup's stands for."""
    problem = "another directory was put in the place of the one that held what is to be kept"
    return ItemError(Reason.DESTINATION_CHANGED, problem)
