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

from collections.abc import Callable, Iterator

from fanout.model.entry import Entry, Kind


class Extras:
    """Finds extras as both listings stream by.

    Entries that are not certain yet are held: at most one for every byte of a path. ``at_source`` says
    whether the source holds a non-directory entry under a name (without ``/``), or anything below a
    path that ends in ``/``. It is called for the topmost of extra directories, and where a listing is
    cut.
    """

    def __init__(self, at_source: Callable[[str], bool], *, on_files: bool) -> None:
        self._at_source = at_source
        self._on_files = on_files
        self._held: list[Entry] = []
        self._kept_below: str | None = None
        self._source_directories: list[str] = []

    def source_entry(self, path: str) -> list[Entry]:
        """Take an entry of the source; returns the entries that are now certain to be extra."""
        if path.endswith("/"):
            above = [directory for directory in self._source_directories if path.startswith(directory)]
            self._source_directories = [*above, path]
        if not self._held:
            return []
        extra = self._passed(path)
        self._held = [entry for entry in self._held if not path.startswith(_as_directory(entry))]
        return extra

    def destination_entry(self, entry: Entry) -> list[Entry]:
        """Take an entry that only the destination holds; returns the entries that are now certain to be extra."""
        extra = self._passed(entry.path)
        if not self._on_files:
            return [*extra, entry]
        if self._kept_below is None or not self._inside(entry):
            self._kept_below = next((one for one in self._unasked(entry) if self._at_source(one[:-1])), "")
        if not (self._kept_below and entry.path.startswith(self._kept_below)):
            self._held.append(entry)
        return extra

    def close(self, *, cut: bool) -> list[Entry]:
        """Return the extras among the entries still held; after a cut listing each is looked up."""
        held, self._held = self._held, []
        return [entry for entry in held if not (cut and self._at_source(_as_directory(entry)))]

    def _inside(self, entry: Entry) -> bool:
        """Whether a directory lies in one that is kept, or in another extra directory."""
        if self._kept_below and entry.path.startswith(self._kept_below):
            return True
        return any(one.kind is Kind.DIRECTORY and entry.path.startswith(one.path) for one in self._held)

    def _unasked(self, entry: Entry) -> list[str]:
        """The directories, topmost first, for which the source may have a file of the same name.

        A bucket may hold the key ``p`` beside the keys ``p/`` and ``p/q``.
        """
        if self._kept_below is None:  # those above may have been listed in another segment
            return list(_above(entry.path))
        both, self._source_directories = self._source_directories, []
        unasked = [one for one in both if entry.path.startswith(one)]
        return [*unasked, entry.path] if entry.kind is Kind.DIRECTORY else unasked

    def _passed(self, path: str) -> list[Entry]:
        """The held entries below which nothing can come any more."""
        passed = [entry for entry in self._held if not path.startswith(entry.path)]
        if passed:
            self._held = [entry for entry in self._held if path.startswith(entry.path)]
        return passed


def _above(path: str) -> Iterator[str]:
    """The path itself if it is a directory's, and the directories above it, topmost first."""
    end = path.find("/") + 1
    while end:
        yield path[:end]
        end = path.find("/", end) + 1


def _as_directory(entry: Entry) -> str:
    return entry.path if entry.path.endswith("/") else f"{entry.path}/"
