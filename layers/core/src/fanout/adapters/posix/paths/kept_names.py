"""Whether other users can give a directory of a mount another name: they can where one above it is theirs to change."""

from __future__ import annotations

import os
import stat

from fanout.adapters.posix.paths.directories import Directories
from fanout.model.path_rules import parent_of

# Chosen: directories in memory of which it is known whether others can change their names.
_KNOWN = 10_000
# Who may write in a directory may rename what it holds; with the sticky bit only what is his.
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class KeptNames:
    """Answers by paths of the mount, kept in memory; ``directories`` are those of it."""

    def __init__(self, directories: Directories) -> None:
        self._directories = directories
        self._known: dict[tuple[str, int], bool] = {}

    def keeps(self, path: str, user: int) -> bool:
        """Whether only ``user`` and root can rename a directory of ``user``, or one above it. Raises ``OSError``.

        An answer is kept: others change neither the names nor the directories above one that keeps its name.
        """
        keeps, above = True, []
        while path:
            path = parent_of(path)
            known = self._known.get((path, user))
            if known is not None:
                keeps = known
                break
            above.append(path)
        if len(self._known) > _KNOWN:
            self._known.clear()
        for one in reversed(above):
            keeps = self._known[one, user] = keeps and self._is_closed(one, user)
        return keeps

    def _is_closed(self, path: str, user: int) -> bool:
        with self._directories.hold(path, opens=False) as descriptor:
            found = os.fstat(descriptor)
        others_rename = found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX
        return found.st_uid in (0, user) and not others_rename
