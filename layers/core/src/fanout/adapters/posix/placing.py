"""Gives a staged file its place, where the request says what becomes of a file that is there.

| overwrite | at the place                                   | then                                     |
|-----------|------------------------------------------------|------------------------------------------|
| any       | nothing                                        | a hard link, which replaces nothing      |
| any       | a directory                                    | ``IsADirectoryError``: another kind of entry |
| always    | anything else                                  | replaced by a rename                     |
| never, if-newer | the staged one's size, mtime and bytes   | left: another attempt put it there       |
| never     | anything else                                  | left, and the entry is kept              |
| if-newer  | a file whose mtime is the same or later        | left, and the entry is kept              |
| if-newer  | an older file                                  | replaced by a rename                     |

A file that is to get further names is left for one of another run only if that has its owner and mode too: names are
linked to it then. Otherwise the entry is kept.

With a backup, what is replaced is kept there before. A link fails where a name exists, so nothing that appears
meanwhile is replaced. The look at what is there is the server's. Between it and the rename another client may still
write there.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter

from fanout.adapters.posix.backup import Backup
from fanout.adapters.posix.errors import no_room_for_name
from fanout.adapters.posix.fencing.placed_files import PlacedFiles
from fanout.adapters.posix.listing.stats import stat_or_none
from fanout.adapters.posix.paths.directories import Directories
from fanout.facts import tuning
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.request.options import Overwrite, replaces

# Chosen: so often may a name come and go before the entry fails.
_LOOKS = 5
_ACCESS = attrgetter("st_uid", "st_gid", "st_mode")


class Placing:
    """Places staged files by the request's policy; ``staged`` and ``directory`` are descriptors of directories."""

    def __init__(self, directories: Directories, overwrite: Overwrite, backup: Backup | None = None) -> None:
        self._directories, self._overwrite, self._backup = directories, overwrite, backup

    @property
    def replaces_all(self) -> bool:
        """Whether a rename does: whatever is there is replaced, and not kept."""
        return self._overwrite is Overwrite.ALWAYS and self._backup is None

    def place(self, staged: int, staged_name: str, directory: int, path: str, placed: PlacedFiles) -> None:
        """Give a staged file its place. Raises ``OSError``, and ``ItemError`` with ``Reason.KEPT``.

        ``placed`` holds the staged file if it is to get further names.
        """
        name = path.rpartition("/")[2]
        for _ in range(_LOOKS):
            if _linked(staged, staged_name, directory, name):
                break
            found = self._there(directory, path)
            if found is None:
                continue
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            new = os.stat(staged_name, dir_fd=staged, follow_symlinks=False)
            if os.path.samestat(found, new):
                break
            if self._overwrite is not Overwrite.ALWAYS and _is_placed(found, new):
                if not _hold_the_same(staged, staged_name, directory, name):
                    raise ItemError(Reason.KEPT, "it has the size and the mtime of the source's, and other bytes")
                if placed.holds(path, new) and not placed.holds(path, found):
                    if _ACCESS(found) != _ACCESS(new):
                        raise ItemError(Reason.KEPT, "it has another owner or mode than the source's")
                    placed.note(path, found)
                break
            if not replaces(self._overwrite, new.st_mtime_ns, found.st_mtime_ns):
                raise ItemError(Reason.KEPT, "it was written there after it was listed")
            if self._backup is not None:
                self._backup.keep(directory, path, new)
            os.rename(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory)
            return
        else:
            raise ItemError(Reason.DESTINATION_CHANGED, "its name came and went while the entry was written")
        with suppress(OSError):  # what cannot be removed now goes with the staging directory
            os.unlink(staged_name, dir_fd=staged)

    def _there(self, directory: int, path: str) -> os.stat_result | None:
        """The stat of a path whose directory is open, as the server has it."""
        from fanout.adapters.posix.paths.fresh import look_now  # brings ctypes, for what is there already
        from fanout.adapters.posix.paths.looks import look_anew

        parent, slash, name = path.rpartition("/")
        look_anew(self._directories, parent + slash)
        with suppress(FileNotFoundError):
            return look_now(name, directory)
        return None


def _linked(staged: int, staged_name: str, directory: int, name: str) -> bool:
    """Link a staged file to a name that does not exist; false where it does."""
    try:
        os.link(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if no_room_for_name(error) is None:  # the last name that the file may have; the staged one counts
            raise
        if stat_or_none(directory, name) is not None:
            return False
        os.rename(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory)
    return True


def _hold_the_same(staged: int, staged_name: str, directory: int, name: str) -> bool:
    """Whether the staged file and the one at its place hold the same bytes; not, if the latter cannot be read."""
    here, there = ((staged, staged_name), (directory, name))
    try:
        kinds = {stat.S_IFMT(os.stat(one, dir_fd=at, follow_symlinks=False).st_mode) for at, one in (here, there)}
        if kinds == {stat.S_IFLNK}:
            return os.readlink(staged_name, dir_fd=staged) == os.readlink(name, dir_fd=directory)
        if kinds != {stat.S_IFREG}:
            return False
        with _opened(*here) as new, _opened(*there) as found:
            offset = 0
            while block := os.pread(new, tuning.BLOCK_BYTES, offset):
                if os.pread(found, len(block), offset) != block:
                    return False
                offset += len(block)
            return not os.pread(found, 1, offset)
    except PermissionError:
        return False


@contextmanager
def _opened(directory: int, name: str) -> Iterator[int]:
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory)
    try:
        yield opened
    finally:
        os.close(opened)


def _is_placed(found: os.stat_result, new: os.stat_result) -> bool:
    """Whether another attempt may have put it there; a further name of a file only where it is that file's."""
    return new.st_nlink == 1 and (found.st_size, found.st_mtime_ns) == (new.st_size, new.st_mtime_ns)
