"""Where to cut a part of a file system: between directories, and between names where there are very many."""

from __future__ import annotations

import os
from zlib import crc32

from fanout.adapters.cuts.cuts import Contents, Level, Mark, Survey
from fanout.adapters.posix.listing.sorted_names import bounds_below
from fanout.adapters.posix.paths.directories import Directories
from fanout.facts import tuning
from fanout.model.errors import ItemError
from fanout.model.path_rules import STAGING_PREFIX
from fanout.model.segment import Segment
from fanout.work.parallel import side_by_side

# Chosen: names of one directory that are kept as possible cuts; of more, every second, fourth and so on by a hash.
SAMPLE = 4096


def cuts_of_directories(directories: Directories, root: str, segment: Segment, ways: int) -> list[str]:
    """See ``ReadTree.cuts``: at most ``tuning.CUT_PROBES`` directories are read, many at a time."""
    survey = Survey(segment, ways)
    left = tuning.CUT_PROBES

    def look(level: Level) -> Contents:
        try:
            return _contents(directories, root, level, segment)
        except (OSError, ItemError):
            return Contents([])  # the listing comes to it and says so

    while together := survey.next(min(left, tuning.CUT_PROBES_AT_ONCE)):
        left -= len(together)
        for level, contents in zip(together, side_by_side(look, together, tuning.CUT_PROBES_AT_ONCE), strict=True):
            survey.add(level, contents)
    return survey.cuts()


class _Sample:
    """A bounded sample of a directory's names; each represents ``stands_for`` of them."""

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

    def contents(self, directory: str) -> Contents:
        """The names, those of files as marks."""
        marks = [
            Mark(directory + name, float(self.stands_for)) for name, is_directory in self._names if not is_directory
        ]
        below = [f"{directory}{name}/" for name, is_directory in self._names if is_directory]
        return Contents(marks, below, float(self.stands_for))


def _contents(directories: Directories, root: str, level: Level, segment: Segment) -> Contents:
    sample = _Sample()
    bounds = bounds_below(level.directory, os.fsencode(level.after), os.fsencode(segment.until))
    with directories.hold(root + level.directory) as descriptor, os.scandir(descriptor) as found:
        for child in found:
            is_directory = child.is_dir(follow_symlinks=False)
            key = os.fsencode(child.name) + (b"/" if is_directory else b"")
            reserved = not level.directory and child.name.startswith(STAGING_PREFIX)
            if key != bounds.way and bounds.hold(key) and not reserved:
                sample.add(child.name, is_directory)
    return sample.contents(level.directory)
