"""The part of a page of keys that lies in a segment, as entries or in columns."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.adapters.s3.client.object_page import ObjectPage
from fanout.model.columns import FileColumns, Listed
from fanout.model.entry import Entry, Kind
from fanout.model.segment import Segment


class PathColumns(Struct, frozen=True):
    """Objects by their paths, which are in order and not empty; the other columns are those of ``ObjectPage``.

    ``classes`` holds by path the storage classes that may hold an object, where they are asked for.
    """

    paths: list[str]
    sizes: list[int]
    modified_ns: list[int]
    etags: list[str]
    classes: dict[str, str] = field(default_factory=dict)

    def listed(self) -> Iterator[Listed]:
        """Entries and columns; files of a class that may hold them are entries that tell it."""
        return self._telling() if self.classes else self._listed()

    def _telling(self) -> Iterator[Listed]:
        classes = self.classes
        for one in self._listed():
            if isinstance(one, Entry):
                yield replace(one, held=classes.get(one.path, ""))
            elif classes.keys().isdisjoint(one.paths):
                yield one
            else:
                yield from (replace(entry, held=classes.get(entry.path, "")) for entry in one.entries())

    def _listed(self) -> Iterator[Listed]:
        """Entries, the files of a directory that follow each other in columns; no step for each key of a flat page."""
        if not self.paths:
            return
        first = self.paths[0]
        directory = first[: first.rfind("/") + 1]
        slashes = directory.count("/") * len(self.paths)
        if self.paths[-1].startswith(directory) and "".join(self.paths).count("/") == slashes:
            yield from self._of_directory(directory, 0, len(self.paths))
            return
        directories = [path[: path.rfind("/") + 1] for path in self.paths]
        start = 0
        for directory, group in groupby(directories):
            end = start + sum(1 for _ in group)
            yield from self._of_directory(directory, start, end)
            start = end

    def _of_directory(self, directory: str, start: int, end: int) -> Iterator[Listed]:
        """Yields the direct children of a directory; the first may be the directory's own object."""
        if self.paths[start] == directory:
            yield key_entry(directory, self.sizes[start], self.modified_ns[start], self.etags[start])
            start += 1
        if start == end:
            return
        skip = len(directory)
        names = [path[skip:] for path in self.paths[start:end]] if skip else self.paths[start:end]
        times, etags = self.modified_ns[start:end], self.etags[start:end]
        yield FileColumns(directory, names, self.sizes[start:end], times, times, etags if all(etags) else ())


def paths_within(segment: Segment, page: ObjectPage, skip: int, *, tells: bool = False) -> PathColumns:
    """The objects of a page that lie in the segment; ``skip`` characters of each key come before its path."""
    classes = {key[skip:]: one for key, one in page.classes.items()} if tells else {}
    paths = [key[skip:] for key in page.keys] if skip else page.keys
    start = bisect_right(paths, os.fsencode(segment.after), key=str.encode)
    end = bisect_right(paths, os.fsencode(segment.until), key=str.encode) if segment.until else len(paths)
    while start < end and not paths[start].startswith(segment.prefix):
        start += 1
    while start < end and not paths[end - 1].startswith(segment.prefix):
        end -= 1
    part = slice(start, end)
    return PathColumns(paths[part], page.sizes[part], page.modified_ns[part], page.etags[part], classes)


def key_entry(path: str, size: int, modified_ns: int, etag: str) -> Entry:
    """The entry of an object: a key that ends in ``/`` and holds no bytes is a directory, every other one a file."""
    kind = Kind.DIRECTORY if path.endswith("/") and not size else Kind.FILE
    return Entry(path, kind, size, modified_ns, modified_ns, etag)
