"""Entries that are unchanged because they are the same, in columns until they are written."""

from __future__ import annotations

from collections.abc import Iterator

from fanout.ledger.rows import same_row
from fanout.model.columns import FileColumns
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind

# Entries of one row: keeps a line of the ledger at some tens of kilobytes.
_A_ROW = 1_000


class SameEntries:
    """Holds a path, a kind and a size for each entry, which is less than the entry or an outcome takes."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._kinds: list[Kind] = []
        self._sizes: list[int] = []

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, entry: Entry) -> None:
        """Take an entry."""
        self._paths.append(entry.path)
        self._kinds.append(entry.kind)
        self._sizes.append(entry.size)

    def add_files(self, files: FileColumns) -> None:
        """Take files."""
        self._paths += files.paths
        self._kinds += [Kind.FILE] * len(files)
        self._sizes += files.sizes

    def rows(self) -> Iterator[Json]:
        """The ledger's rows of them."""
        for start in range(0, len(self), _A_ROW):
            part = slice(start, start + _A_ROW)
            yield same_row(self._paths[part], self._kinds[part], self._sizes[part])
