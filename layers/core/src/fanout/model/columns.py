"""Files of one directory in columns, so that many are compared at the cost of a few.

A listing makes an ``Entry`` for each file in about a microsecond, and deciding, counting and settling it takes ten.
Most files of a run are unchanged or new, and columns of numbers are compared, added and joined by the interpreter
itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from msgspec import Struct

from fanout.model.entry import Entry, Kind


class FileColumns(Struct):
    """Plain files that follow each other in a listing: of one directory, each with one name, and none a problem.

    ``directory`` is empty or ends in ``/``. The columns are of one length, at least 1; ``etags`` is empty for files
    of a file system. ``replaces`` is that of each: see ``Entry``. A value, as ``Entry`` is.
    """

    directory: str
    names: list[str]
    sizes: Sequence[int]
    mtimes_ns: Sequence[int]
    changed_ns: Sequence[int]
    etags: Sequence[str] = ()
    replaces: str = ""

    def __len__(self) -> int:
        return len(self.names)

    def part(self, start: int, end: int | None = None) -> FileColumns:
        """The files from one number up to another."""
        part = slice(start, end)
        numbers = (self.sizes[part], self.mtimes_ns[part], self.changed_ns[part])
        return FileColumns(self.directory, self.names[part], *numbers, self.etags[part], self.replaces)

    def first(self) -> Entry:
        return self.part(0, 1).entries()[0]

    def entries(self) -> list[Entry]:
        directory, etags = self.directory, self.etags or [""] * len(self.names)
        columns = zip(self.names, self.sizes, self.mtimes_ns, self.changed_ns, etags, strict=True)
        return [
            Entry(directory + name, Kind.FILE, size, mtime_ns, changed_ns, etag, replaces=self.replaces)
            for name, size, mtime_ns, changed_ns, etag in columns
        ]

    @property
    def paths(self) -> list[str]:
        directory = self.directory
        return [directory + name for name in self.names] if directory else self.names


Listed = Entry | FileColumns


def first_path(listed: Listed) -> str:
    """The path of the first file, or of the entry."""
    return listed.path if isinstance(listed, Entry) else listed.directory + listed.names[0]


def last_path(listed: Listed) -> str:
    """The path of the last file, or of the entry."""
    return listed.path if isinstance(listed, Entry) else listed.directory + listed.names[-1]


def count_of(listed: Listed) -> int:
    """How many entries it is."""
    return 1 if isinstance(listed, Entry) else len(listed)


def count_and_bytes(listed: Iterable[Listed]) -> tuple[int, int]:
    """How many entries there are, and their bytes."""
    entries = size = 0
    for one in listed:
        entries += count_of(one)
        size += one.size if isinstance(one, Entry) else sum(one.sizes)
    return entries, size


def one_by_one(listed: Iterable[Listed]) -> Iterator[Entry]:
    """Every entry by itself."""
    for one in listed:
        if isinstance(one, Entry):
            yield one
        else:
            yield from one.entries()


def in_columns(entries: Iterable[Entry], most: int) -> Iterator[Listed]:
    """Entries in columns where that can be, of at most so many files; the order stays."""
    for directory, group in groupby(entries, _directory_of_plain):
        if directory is None:
            yield from group
            continue
        skip = len(directory)
        while some := list(islice(group, most)):
            yield FileColumns(
                directory,
                [entry.path[skip:] for entry in some],
                [entry.size for entry in some],
                [entry.mtime_ns for entry in some],
                [entry.changed_ns for entry in some],
                [entry.etag for entry in some] if all(entry.etag for entry in some) else (),
            )


def _directory_of_plain(entry: Entry) -> str | None:
    """The directory of a file that columns can hold; ``None`` for anything else."""
    if entry.kind is not Kind.FILE or entry.inode or entry.problem or entry.held or entry.path.endswith("/"):
        return None
    return entry.path[: entry.path.rfind("/") + 1]
