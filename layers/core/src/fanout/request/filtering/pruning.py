"""Pruned directories: listed themselves, contents skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator

from fanout.model.entry import Entry, Kind
from fanout.model.segment import Prunes, Segment


class Pruning:
    """Takes the entries of a flat listing (keys) in path order, and puts one directory in the place of what it prunes.

    ``prunes`` tells of a path whether it or a directory above it is pruned.
    """

    def __init__(self, segment: Segment, prunes: Prunes) -> None:
        self._prefix, self._after = segment.prefix, os.fsencode(segment.after)
        self.prunes = prunes
        self._inside = ""

    def __call__(self, entry: Entry) -> Iterator[Entry]:
        """The entry, or the pruned directory where it is the first in it, or nothing."""
        if self.inside(entry.path):
            return
        directory = self._pruned(entry.path)
        if not directory:
            yield entry
            return
        self._inside = directory
        # Otherwise another segment has listed it.
        if directory.startswith(self._prefix) and os.fsencode(directory) > self._after:
            yield entry if entry.path == directory else Entry(directory, Kind.DIRECTORY)

    def inside(self, path: str) -> str:
        """The pruned directory that a path lies in, if it is the one that was met last; else empty."""
        return self._inside if self._inside and path.startswith(self._inside) else ""

    def _pruned(self, path: str) -> str:
        """The topmost directory on the way to a path that is pruned, itself too; empty if none is."""
        if not self.prunes(path):
            return ""
        end = path.find("/") + 1
        while end and not self.prunes(path[:end]):
            end = path.find("/", end) + 1
        return path[:end]
