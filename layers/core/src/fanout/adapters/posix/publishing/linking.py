"""Gives a file of one version a further name in the next one, and records copies for that."""

from __future__ import annotations

import os
import stat
import threading
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from itertools import islice

from msgspec.structs import replace

from fanout.adapters.posix.errors import no_room_for_name
from fanout.adapters.posix.listing.stats import WaitedSeconds, stat_or_none
from fanout.adapters.posix.paths.directories import Directories
from fanout.facts import tuning
from fanout.model.entry import Entry, MadeEntry
from fanout.model.errors import ItemError


def made_of(path: str, directory: int, name: str, found: os.stat_result) -> MadeEntry:
    """The entry ``found`` under a name in a directory, as it is to be recorded for ``path``. Raises ``OSError``."""
    target = os.readlink(name, dir_fd=directory) if stat.S_ISLNK(found.st_mode) else ""
    owner, times = (found.st_uid, found.st_gid), (found.st_ino, found.st_ctime_ns)
    return MadeEntry(path, found.st_mode, *owner, found.st_size, found.st_mtime_ns, *times, target)


class MadeFiles:
    """Collects the copies below ``root`` until they are taken; many threads add."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._made: list[MadeEntry] = []

    def staged(self, path: str, directory: int, name: str) -> MadeEntry:
        """A staged file that is about to get its place at ``path``. Raises ``OSError``."""
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        return replace(made_of(path.removeprefix(self._root), directory, name, found), changed_ns=0)

    def add(self, made: MadeEntry) -> None:
        """Take a copy that is in its place."""
        self._made.append(made)

    def take(self) -> list[MadeEntry]:
        """Hand over the copies that were added since."""
        taken = []
        while self._made:
            taken.append(self._made.pop())
        return taken


class VersionNames:
    """Finds files of a version.

    A look-up that waits is an operation a file. The second one in a directory has all of it read: an NFS client gets
    attributes along with the names, and keeps them for seconds, so the look-ups that follow ask nobody. In another
    process they find that too, and do not wait.
    """

    def __init__(self) -> None:
        self._waited: Counter[str] = Counter()
        self._lock = threading.Lock()

    def find(self, path: str, directory: int, name: str) -> os.stat_result | None:
        """The entry under a name in the directory at ``path``, as it is there."""
        waited = WaitedSeconds()
        found = stat_or_none(directory, name)
        if waited.seconds > tuning.DIRECTORY_SLOW_SECONDS:
            with self._lock:
                self._waited[path] += 1
                is_worth_it = self._waited[path] == tuning.LOOK_UPS_ONE_BY_ONE
            if is_worth_it:
                _read(directory)
        return found


def _read(directory: int) -> None:
    """Have the client read a directory; of a large one a part, because another function may link the rest."""
    with os.scandir(directory) as entries:
        for _ in islice(entries, tuning.NAMES_AT_ONCE):
            pass


def link_from(
    directories: Directories, names: VersionNames, root: str, entry: Entry, place: str, made: Collection[MadeEntry]
) -> MadeEntry | None:
    """Make the entry's path below ``root`` a further name of what is at that path below ``place``.

    Returns what was linked, with the ctime that the link gave it. ``None`` where nothing is there that still is one
    of ``made``, where the file has no room for a name, and where something else has the name already. Raises
    ``OSError``.
    """
    parent, slash, name = entry.path.rpartition("/")
    try:
        origin = directories.hold(path := f"{place}{parent}{slash}")
    except (FileNotFoundError, NotADirectoryError, ItemError):
        return None
    with origin as above, directories.hold(f"{root}{parent}{slash}", create=True) as directory:
        before = names.find(path, above, name)
        known = None if before is None else _looked(entry, above, name, before)
        if before is None or known is None or not any(one.still_is(known) for one in made):
            return None
        try:
            os.link(name, name, src_dir_fd=above, dst_dir_fd=directory, follow_symlinks=False)
        except (FileExistsError, FileNotFoundError):
            return _same(entry, directory, name, known)
        except OSError as error:
            if no_room_for_name(error) is None:
                raise
            return None
        if linked := _same(entry, directory, name, known):
            return linked
        with suppress(FileNotFoundError):  # another client put something else there meanwhile
            os.unlink(name, dir_fd=directory)
        return None


def _same(entry: Entry, directory: int, name: str, known: MadeEntry) -> MadeEntry | None:
    """The entry under a name, if it is the one known by another name; the link between the two moved its ctime."""
    found = stat_or_none(directory, name)
    now = None if found is None else _looked(entry, directory, name, found)
    return now if now is not None and known.looks_like(now) else None


def _looked(entry: Entry, directory: int, name: str, found: os.stat_result) -> MadeEntry | None:
    try:
        return made_of(entry.path, directory, name, found)
    except FileNotFoundError:
        return None
