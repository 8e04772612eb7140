"""Counts the files of the fullest directories, in bounded memory for any tree.

A directory's files are created one after the other, so the fullest directory can limit a copy. Many functions may
list it, each a range of its names; so each function counts, and the counts are added up. A count is never too
high. It is too low by at most a 170th of all counted files (Misra and Gries, 1982), plus the directories that a part
with more than ``TOLD`` of them omits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b

from fanout.model.columns import FileColumns, Listed

# Chosen: directories that are counted at a time, and those of a part that the others hear of.
MOST, TOLD = 256, 16


class Crowds:
    """Counts files by the directory that they are to be written to."""

    def __init__(self) -> None:
        self._files: Counter[str] = Counter()

    def add(self, listed: Iterable[Listed]) -> None:
        """Count the files among these entries; they are as many as fit into memory."""
        found: Counter[str] = Counter()
        for one in listed:
            if isinstance(one, FileColumns):
                found[one.directory[:-1]] += len(one)
            elif not (path := one.target or one.path).endswith("/"):
                found[path.rpartition("/")[0]] += 1
        self._plus({_name(directory): files for directory, files in found.most_common(2 * MOST)})

    def merge(self, row: Mapping[str, int]) -> None:
        self._plus(row)

    @property
    def largest(self) -> int:
        """Files of the directory that has most of them, 0 where none was counted."""
        return max(self._files.values(), default=0)

    def row(self) -> dict[str, int]:
        """The fullest directories, as the ledger holds them: by a hash of the path, which is as long for all."""
        return dict(self._files.most_common(TOLD))

    def _plus(self, files: Mapping[str, int]) -> None:
        self._files.update(files)
        if len(self._files) > MOST:
            least = sorted(self._files.values(), reverse=True)[MOST]
            self._files = Counter({name: count - least for name, count in self._files.items() if count > least})


def _name(directory: str) -> str:
    return blake2b(directory.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
