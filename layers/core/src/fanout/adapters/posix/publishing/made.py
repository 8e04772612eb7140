"""Copies as they are when they are made, for the run that links them in the next version."""

from __future__ import annotations

import os
import stat

from msgspec.structs import replace

from fanout.model.entry import Made


def made_of(path: str, directory: int, name: str, found: os.stat_result) -> Made:
    """The entry ``found`` under a name in a directory, as it is to be recorded for ``path``. Raises ``OSError``."""
    target = os.readlink(name, dir_fd=directory) if stat.S_ISLNK(found.st_mode) else ""
    owner, times = (found.st_uid, found.st_gid), (found.st_ino, found.st_ctime_ns)
    return Made(path, found.st_mode, *owner, found.st_size, found.st_mtime_ns, *times, target)


class MadeFiles:
    """Collects the copies below ``root`` until they are taken; many threads add."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._made: list[Made] = []

    def staged(self, path: str, directory: int, name: str) -> Made:
        """A staged file that is about to get its place at ``path``. Raises ``OSError``."""
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        return replace(made_of(path.removeprefix(self._root), directory, name, found), changed_ns=0)

    def add(self, made: Made) -> None:
        """Take a copy that is in its place."""
        self._made.append(made)

    def take(self) -> list[Made]:
        """Hand over the copies that were added since."""
        taken = []
        while self._made:
            taken.append(self._made.pop())
        return taken
