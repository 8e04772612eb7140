"""Where to cut a part of a file system: between directories, and between names where there are very many."""

from __future__ import annotations

import os
from collections import deque
from zlib import crc32

from fanout.adapters.posix.directories import Directories
from fanout.adapters.posix.listing import translated
from fanout.adapters.posix.sorted_names import bounds_below
from fanout.domain import limits
from fanout.domain.cuts import DIRECTORY_ENTRIES, Level, Mark, Marks, levels
from fanout.domain.errors import ItemError
from fanout.domain.names import STAGING_PREFIX
from fanout.domain.segments import Segment

# Chosen: names of one directory that are kept as possible cuts; of more, every second, fourth and so on by a hash.
SAMPLE = 4096


def cuts_of_directories(directories: Directories, root: str, segment: Segment, ways: int) -> list[str]:
    """See ``Tree.cuts``: breadth first, at most ``limits.CUT_PROBES`` directories are read."""
    marks = Marks()
    waiting = deque(levels(segment))
    read = 0
    with translated(root, segment):
        while waiting and read < limits.CUT_PROBES and len(marks) < 2 * ways:
            level = waiting.popleft()
            try:
                sample = _sample(directories, root, level, segment)
            except (FileNotFoundError, NotADirectoryError, PermissionError, ItemError):
                continue  # the listing comes to it and says so
            read += 1
            marks.looked_into(level)
            waiting.extend(sample.mark(level.directory, marks))
    return marks.choose(ways)


class _Sample:
    """A bounded sample of a directory's names; each stands for ``stands_for`` of them."""

    def __init__(self) -> None:
        self._names: list[tuple[str, bool]] = []
        self.stands_for = 1

    def add(self, name: str, is_directory: bool) -> None:
        """Take a name, or leave it out."""
        if self._left_out(name):
            return
        self._names.append((name, is_directory))
        if len(self._names) > SAMPLE:
            self.stands_for *= 2
            self._names = [one for one in self._names if not self._left_out(one[0])]

    def _left_out(self, name: str) -> bool:
        return crc32(os.fsencode(name)) % self.stands_for != 0

    def mark(self, directory: str, marks: Marks) -> list[Level]:
        """Mark the names; returns the directories among them."""
        found = []
        for name, is_directory in self._names:
            if is_directory:
                marks.add_directory(f"{directory}{name}/", DIRECTORY_ENTRIES * self.stands_for)
                found.append(Level(f"{directory}{name}/"))
            else:
                marks.add([Mark(directory + name, float(self.stands_for))])
        return sorted(found, key=lambda level: os.fsencode(level.directory))


def _sample(directories: Directories, root: str, level: Level, segment: Segment) -> _Sample:
    sample = _Sample()
    bounds = bounds_below(level.directory, os.fsencode(level.after), os.fsencode(segment.until))
    with directories.hold(root + level.directory) as descriptor, os.scandir(descriptor) as found:
        for child in found:
            is_directory = child.is_dir(follow_symlinks=False)
            key = os.fsencode(child.name) + (b"/" if is_directory else b"")
            reserved = not level.directory and child.name.startswith(STAGING_PREFIX)
            if key != bounds.way and bounds.hold(key) and not reserved:
                sample.add(child.name, is_directory)
    return sample
