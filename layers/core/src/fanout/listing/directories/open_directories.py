"""Tracks the directories of a listing that stay unchanged until something in them is written."""

from __future__ import annotations

from fanout.model.directories import parent_of
from fanout.model.entry import Entry


class OpenDirectories:
    """The directories on the way down to the current path that look unchanged; call in path order.

    Writing an entry into a directory moves the directory's mtime. So a directory gets its attributes again if a
    direct child is written, whatever they were before.
    """

    def __init__(self) -> None:
        self._stack: list[Entry] = []

    def left_before(self, path: str) -> list[Entry]:
        """The directories that end before ``path``: nothing in them was written."""
        left = []
        while self._stack and not path.startswith(self._stack[-1].path):
            left.append(self._stack.pop())
        return left

    def enter(self, directory: Entry) -> None:
        """Keep a directory that looks unchanged, after ``left_before`` for its path."""
        self._stack.append(directory)

    def above(self, path: str) -> Entry | None:
        """The directory that ``path`` lies in directly, if it still looks unchanged."""
        return self._stack[-1] if self._stack and parent_of(path) == self._stack[-1].path else None

    def touched(self, path: str) -> Entry | None:
        """The directory that writing ``path`` changes; ``None`` after the first time."""
        return self._stack.pop() if self.above(path) else None

    def rest(self) -> list[Entry]:
        """The directories that the last path lies in."""
        left, self._stack = self._stack, []
        return left
