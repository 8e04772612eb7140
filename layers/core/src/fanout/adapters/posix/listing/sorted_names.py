"""The names of a directory in the order of keys, a bounded number at a time.

A directory is read in no order. A directory with more than ``tuning.NAMES_HELD`` names is read to its end several
times; each time yields the next ``tuning.NAMES_HELD`` names in order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice

from msgspec import Struct

from fanout.facts import tuning
from fanout.model.entry import Entry
from fanout.work.progress import FILES, moved

# Names whose attributes are asked for together.
BATCH = 1024


class NameRange(Struct, frozen=True):
    """The names that can lie in a segment: after ``low``, up to ``high`` (``None``: all), and the directory ``way``.

    Names are bytes, those of directories end in ``/``. ``way`` is what the segment begins in, if anything.
    """

    low: bytes
    high: bytes | None
    way: bytes

    def hold(self, key: bytes) -> bool:
        """Whether a name, or what lies below it, can lie in the segment."""
        return (key > self.low and (self.high is None or key <= self.high)) or (key == self.way != b"")

    @property
    def hold_all(self) -> bool:
        """Whether every name is within them."""
        return not self.low and self.high is None

    def after(self, key: bytes) -> NameRange:
        """The bounds of the names after one."""
        return NameRange(max(key, self.low), self.high, b"")


def bounds_below(directory: str, after: bytes, until: bytes) -> NameRange:
    """The bounds of a directory's names in a segment that it lies in, at least in part."""
    base = os.fsencode(directory)
    low = after[len(base) :] if after.startswith(base) else b""
    name, slash, _ = low.partition(b"/")
    high = until[len(base) :] if until and until.startswith(base) else None
    return NameRange(low, high, name + slash if slash else b"")


class Names:
    """Collects names in any order and hands out the first of them; ``known`` holds entries that were looked up.

    A directory's name ends in ``/``.
    """

    def __init__(self, bounds: NameRange) -> None:
        self._bounds = bounds
        self._names: list[str] = []
        self.known: dict[str, Entry] = {}
        self.more = False
        self.last = b""

    def add_all(self, found: Iterable[os.DirEntry[str]]) -> None:
        """Take those of a directory's names that are within the bounds."""
        each = iter(found)
        while some := [
            child.name + "/" if child.is_dir(follow_symlinks=False) else child.name for child in islice(each, BATCH)
        ]:
            moved(FILES)
            if not self._bounds.hold_all:
                some = [name for name in some if self._bounds.hold(os.fsencode(name))]
            self._names += some
            if len(self._names) >= 2 * tuning.NAMES_HELD:
                self._keep_first()

    def add(self, name: str) -> None:
        """Take a name if it is within the bounds."""
        if self._bounds.hold_all or self._bounds.hold(os.fsencode(name)):
            self._names.append(name)
            if len(self._names) >= 2 * tuning.NAMES_HELD:
                self._keep_first()

    def add_known(self, name: str, entry: Entry) -> None:
        """Take a name and its entry, whose kind decides its place."""
        name += "/" if entry.path.endswith("/") else ""
        self.known[name] = entry
        self.add(name)

    def _keep_first(self) -> None:
        # The order of ASCII is that of its bytes, and most names are nothing else.
        self._names.sort(key=None if all(map(str.isascii, self._names)) else os.fsencode)
        self.more = self.more or len(self._names) > tuning.NAMES_HELD
        del self._names[tuning.NAMES_HELD :]

    def close(self) -> None:
        """All names are in."""
        self._keep_first()
        self.last = os.fsencode(self._names[-1]) if self._names else self._bounds.low

    def batches(self) -> Iterator[list[str]]:
        for start in range(0, len(self._names), BATCH):
            yield self._names[start : start + BATCH]
