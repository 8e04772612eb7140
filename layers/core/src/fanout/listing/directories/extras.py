"""Finds entries of the destination that have no counterpart at the source, in one pass in path order.

| the destination holds          | the source holds                 | on a file system | in a bucket |
|--------------------------------|----------------------------------|------------------|-------------|
| ``p`` or ``p/``                | the same path                    | no extra         | no extra    |
| file ``p``                     | something below ``p/``           | no extra         | extra       |
| directory ``p/`` without entry | something below ``p/``           | no extra         | extra       |
| ``p/`` and what is below it    | a file, symlink or special ``p`` | no extra         | extra       |
| anything                       | nothing under its name           | extra            | extra       |

On a file system a name is either a file or a directory. Where the ends differ in that, the copy of the
source's entry fails with its reason, and the entry in its way is not deleted. In a bucket ``p`` and
``p/`` are two independent keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fanout.model.books import Tally
from fanout.model.entry import Entry, Kind
from fanout.model.path_rules import FilesAbove
from fanout.model.segment import Segment, after_subtree


class Extras:
    """Finds extras of a segment as both listings stream by.

    Entries that are not certain yet are held: at most one for every byte of a path. ``at_source`` says
    whether the source holds a non-directory entry under a name (without ``/``), or anything below a
    path that ends in ``/``. It is asked once for each name above the segment or before it, and for those that a
    segment ends in, as one of a later round or where it is cut; the listing itself has shown all other names.
    ``in_the_way`` counts entries that are not extra because the source has another kind of entry there.
    """

    def __init__(self, at_source: Callable[[str], bool], segment: Segment, *, on_files: bool) -> None:
        self._at_source, self._segment = at_source, segment
        self._on_files = on_files
        self._held: list[Entry] = []
        self._files = FilesAbove()
        self._elsewhere: dict[str, bool] = {}
        self.in_the_way = Tally()

    def source_entry(self, path: str) -> list[Entry]:
        """Take an entry of the source; returns the entries that are now certain to be extra."""
        if self._on_files and not path.endswith("/"):
            self._files.add_files((path,))
        if not self._held:
            return []
        extra = self._passed(path)
        for entry in self._held:
            if path.startswith(_as_directory(entry)):
                self._note_implied(entry)
        self._held = [entry for entry in self._held if not path.startswith(_as_directory(entry))]
        return extra

    def source_files(self, paths: Sequence[str]) -> list[Entry]:
        """Take files of one directory, which the destination holds too, as ``source_entry`` takes each of them."""
        extra = self.source_entry(paths[0])
        if self._on_files:
            self._files.add_files(paths)
        return [*extra, *self._passed(paths[-1])]

    def destination_entry(self, entry: Entry) -> list[Entry]:
        """Take an entry that only the destination holds; returns the entries that are now certain to be extra."""
        extra = self._passed(entry.path)
        if not self._on_files:
            return [*extra, entry]
        if self._is_below_file(entry.path):
            self.in_the_way.add(entry.size)
        else:
            self._held.append(entry)
        return extra

    def _note_implied(self, entry: Entry) -> None:
        """The source has a directory of the entry's name."""
        if entry.kind is not Kind.DIRECTORY:
            self.in_the_way.add(entry.size)

    def close(self, *, cut: bool) -> list[Entry]:
        """Return the extras among the entries still held; one that another segment lists on in is looked up."""
        held, self._held = self._held, []
        extra = []
        for entry in held:
            if self._is_implied_elsewhere(_as_directory(entry), cut=cut):
                self._note_implied(entry)
            else:
                extra.append(entry)
        return extra

    def _is_implied_elsewhere(self, directory: str, *, cut: bool) -> bool:
        return (cut or self._segment.ends_before(after_subtree(directory))) and self._at_source(directory)

    def _is_below_file(self, path: str) -> bool:
        """Whether the source has a file under the name of the directory, or of one above the path.

        A bucket may hold the key ``p`` as well as the keys ``p/`` and ``p/q``.
        """
        return self._files.covers(path) or any(map(self._is_file_elsewhere, self._names_elsewhere(path)))

    def _names_elsewhere(self, path: str) -> Iterator[str]:
        """The directories of a path, topmost first and without ``/``, that this segment does not list as files.

        A name that begins the path is not listed here if the segment's prefix is longer, or if it begins
        ``after``: keys sort as ``a``, ``a-5``, ``a/b``.
        """
        segment = self._segment
        end = path.find("/")
        while end > 0 and (end < len(segment.prefix) or segment.after.startswith(path[:end])):
            yield path[:end]
            end = path.find("/", end + 1)

    def _is_file_elsewhere(self, name: str) -> bool:
        if name not in self._elsewhere:
            self._elsewhere[name] = self._at_source(name)
        return self._elsewhere[name]

    def _passed(self, path: str) -> list[Entry]:
        """The held entries below which nothing can come any more."""
        passed = [entry for entry in self._held if not path.startswith(entry.path)]
        if passed:
            self._held = [entry for entry in self._held if path.startswith(entry.path)]
        return passed


def _as_directory(entry: Entry) -> str:
    return entry.path if entry.path.endswith("/") else f"{entry.path}/"
