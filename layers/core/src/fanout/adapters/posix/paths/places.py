"""The directories that a tree puts entries into, each by its inode: names in a directory may be moved by others."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from fanout.model.entry import Place
from fanout.model.path_rules import STAGING_PREFIX, is_taken, is_unfinished

IsMadeFor = Callable[[str, int, os.stat_result], bool]
Close = Callable[[str, int, os.stat_result], None]


class NotedPlaces:
    """Collects the directories below ``root`` until they are taken; many threads add.

    ``owner`` gives the user that the server makes files for, ``None`` where that is not known. ``is_made_for``: see
    ``MadeMarks``. ``close``: see ``Closing``.
    """

    def __init__(self, root: str, owner: Callable[[], int | None], is_made_for: IsMadeFor, close: Close) -> None:
        self._root, self._owner, self._is_made_for, self._close = root, owner, is_made_for, close
        self._noted: list[Place] = []

    def note(self, path: str, descriptor: int, is_new: bool) -> None:
        """Note an open directory; see ``Directories.on_placing``. Raises ``OSError``."""
        below = path[len(self._root) :]
        if below and path.startswith(self._root) and not below.startswith(STAGING_PREFIX):
            found = os.fstat(descriptor)
            place = self._place_of(below, descriptor, found, is_new=is_new)
            self._close(below, descriptor, found)
            self._noted.append(place)

    def place_of(self, path: str, descriptor: int) -> Place:
        """An open directory as a place. Raises ``OSError``."""
        return self._place_of(path, descriptor, os.fstat(descriptor), is_new=False)

    def _place_of(self, path: str, descriptor: int, found: os.stat_result, *, is_new: bool) -> Place:
        """The run's own: of its user, with the mode that only runs give to what they make, and made for this path.

        Where the file system drops the sticky bit of that mode, a new one is empty: another one may have got its name
        before it was opened.
        """
        is_own = self._owner() in (None, found.st_uid) and (
            self._is_made_for(self._root + path, descriptor, found)
            if is_unfinished(found.st_mode) and not is_taken(found.st_mode)
            else is_new and not os.listdir(f"/proc/self/fd/{descriptor}")
        )
        return Place(path, str(found.st_ino), is_own)

    def take(self) -> Sequence[Place]:
        """Hand over what was noted since."""
        taken: list[Place] = []
        while self._noted:
            taken.append(self._noted.pop())
        return taken
