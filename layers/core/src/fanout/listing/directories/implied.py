"""Finds which directories that only the destination holds are implied by entries of the source."""

from __future__ import annotations

from fanout.model.entry import Entry


class ImpliedDirectories:
    """Tells directories that the source's keys imply from those that have nothing at the source, in path order.

    In a bucket a directory need not be an object: ``d/f`` is enough. Memory is bounded by the depth.
    """

    def __init__(self) -> None:
        self._open: list[Entry] = []

    @property
    def empty(self) -> bool:
        """Whether none is noted."""
        return not self._open

    def add(self, directory: Entry) -> list[Entry]:
        """Note a directory that only the destination holds; returns those that proved to be extra."""
        extra = self._left_by(directory.path)
        self._open.append(directory)
        return extra

    def source_entry(self, path: str) -> list[Entry]:
        """An entry of the source implies the directories above it; returns those that proved to be extra."""
        if not self._open:
            return []
        extra = self._left_by(path)
        self._open.clear()
        return extra

    def close(self) -> list[Entry]:
        """The directories that nothing implied until the end of the listing."""
        extra, self._open = self._open, []
        return extra

    def _left_by(self, path: str) -> list[Entry]:
        extra = [directory for directory in self._open if not path.startswith(directory.path)]
        self._open = [directory for directory in self._open if path.startswith(directory.path)]
        return extra
