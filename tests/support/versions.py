"""Trees in which what stood at a path before can come back."""

from __future__ import annotations

from tests.support.memory import MemoryTree
from tests.support.memory_files import Stored


class Versions(MemoryTree):
    """A tree in which what stood at a path before can come back as it was, times and ETag too."""

    def bring_back(self, path: str, stored: Stored) -> None:
        """What a deletion of the newest version of an object does, or the renaming of a directory to its files."""
        self._entries[path] = stored
