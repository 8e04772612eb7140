"""Gives a file of one version a further name in the next one."""

from __future__ import annotations

import os
import stat
import threading
from collections import Counter
from contextlib import suppress
from itertools import islice

from fanout.adapters.posix.errors import no_room_for_name
from fanout.adapters.posix.listing.stats import Waited
from fanout.adapters.posix.paths.directories import Directories
from fanout.facts import tuning
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError

_KINDS = (stat.S_IFREG, stat.S_IFLNK)


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
        """The entry under a name in the directory at ``path``, as it stands there."""
        waited = Waited()
        found = _found(directory, name)
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


def link_from(directories: Directories, names: VersionNames, root: str, entry: Entry, place: str, made_ns: int) -> bool:
    """Make the entry's path below ``root`` a further name of what stands at that path below ``place``.

    False where nothing stands there that has the entry's kind, size and (of a file system) mtime, or of an object an
    mtime before ``made_ns``; where the file has no room for a name, and where something else has the name already.
    Raises ``OSError``.
    """
    parent, slash, name = entry.path.rpartition("/")
    try:
        origin = directories.hold(path := f"{place}{parent}{slash}")
    except (FileNotFoundError, NotADirectoryError, ItemError):
        return False
    with origin as above, directories.hold(f"{root}{parent}{slash}", create=True) as directory:
        before = names.find(path, above, name)
        if before is None or not _is_copy(before, entry, made_ns):
            return False
        try:
            os.link(name, name, src_dir_fd=above, dst_dir_fd=directory, follow_symlinks=False)
        except (FileExistsError, FileNotFoundError):
            there = _found(directory, name)
            return there is not None and os.path.samestat(before, there)
        except OSError as error:
            if no_room_for_name(error) is None:
                raise
            return False
        made = _found(directory, name)
        if made is not None and os.path.samestat(before, made) and _is_copy(made, entry, made_ns):
            return True
        with suppress(FileNotFoundError):  # another client put something else there meanwhile
            os.unlink(name, dir_fd=directory)
        return False


def _is_copy(found: os.stat_result, entry: Entry, made_ns: int) -> bool:
    """An object may be a symlink, whose bytes are its target; a listing does not tell the mtime that its copy has.

    Its copy was given an mtime of the source; whoever changes it in place leaves the time of the change.
    """
    kind = stat.S_IFMT(found.st_mode)
    if entry.etag:
        is_untouched = kind == stat.S_IFLNK or found.st_mtime_ns < made_ns
        return kind in _KINDS and found.st_size == entry.size and is_untouched
    expected = stat.S_IFLNK if entry.kind is Kind.SYMLINK else stat.S_IFREG
    return (kind, found.st_size, found.st_mtime_ns) == (expected, entry.size, entry.mtime_ns)


def _found(directory: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
