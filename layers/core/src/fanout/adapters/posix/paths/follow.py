"""Looking up single paths of a mount; symlinks of a source that are followed: what each leads to, and none for ever.

An answer that there is nothing may cost an entry its life.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct
from msgspec.structs import replace

from fanout.adapters.posix.errors import NOTHING
from fanout.adapters.posix.listing.stats import entry_of
from fanout.adapters.posix.paths.beneath import walk
from fanout.adapters.posix.paths.directories import Directories
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, ItemError, Transient
from fanout.model.outcome import Reason
from fanout.model.path_rules import parent_of, reason_against_file_path


def find_source(directories: Directories, root: str, path: str) -> Entry | None:
    """The entry at a path of a source, given without ``/`` at its end; ``None`` only where it is certainly nothing.

    The directories above must be real directories that can be searched and are still at their place. Raises
    ``AccessDenied``, ``ItemError`` with ``Reason.SOURCE_CHANGED``, or ``Transient`` where there is no answer.
    """
    if _is_no_name(path):
        return None
    try:
        found = _found(directories, root, path, made=False, tells_names=True)
        if found is None:
            _confirm_parent(directories, root, path)
    except ItemError as error:
        raise ItemError(Reason.SOURCE_CHANGED, error.message) from error
    except NotADirectoryError as error:
        raise ItemError(Reason.SOURCE_CHANGED, "its parent is not a directory") from error
    return found


def find_destination(directories: Directories, root: str, path: str, *, tells_names: bool = False) -> Entry | None:
    """As ``find_source`` at a destination, where nothing lies below a file, nor behind a symlink.

    ``tells_names``: with the inode of a file that has several names, as a listing tells it.
    """
    try:
        return None if _is_no_name(path) else _found(directories, root, path, made=True, tells_names=tells_names)
    except (NotADirectoryError, ItemError):
        return None


def _is_no_name(path: str) -> bool:
    """Whether a path is that of no file; some of these lead out of the root."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return True
    return reason_against_file_path(path) not in (None, Reason.PATH_TOO_DEEP)


def _found(directories: Directories, root: str, path: str, *, made: bool, tells_names: bool) -> Entry | None:
    parent, separator, name = (root + path).rpartition("/")
    with suppress(FileNotFoundError), answered(root + path), directories.hold(parent + separator) as descriptor:
        found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        return entry_of(path, found, found.st_dev if tells_names else -1, made=made)
    return None


@contextmanager
def answered(path: str) -> Iterator[None]:
    """Errors of looking up a path as those of ``ReadTree.find``; that there is nothing is an answer."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise
    except PermissionError as error:
        remedy = "give the function search permission on the directories above"
        raise AccessDenied("looking up", f"/{path}"[:1000], f"{remedy} ({error.strerror})") from error
    except OSError as error:
        if error.errno in NOTHING:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from error
        raise Transient(f"stat: {error.strerror}") from error


def _confirm_parent(directories: Directories, root: str, path: str) -> None:
    """Raise where one of the directories above a path, as it is open here, was replaced, or where the root went.

    One that was removed with all that it held is no reason: whoever opens it anew finds nothing there either.
    """
    try:
        there = _in_place(directories, directories.nearest(parent_of(root + path)))
    except FileNotFoundError:  # it went between the two
        there = None
    except NotADirectoryError:
        raise
    except OSError as error:
        raise Transient(f"stat: {error.strerror}") from error
    if there is None:
        raise ItemError(Reason.SOURCE_CHANGED, "a parent directory was replaced after it was listed")
    if not there.startswith(root):
        raise ItemError(Reason.SOURCE_CHANGED, f"/{root} is not there any more")


def _in_place(directories: Directories, path: str) -> str | None:
    """The deepest directory at a path or above it that was not removed; ``None`` where one was moved or replaced.

    A directory that was removed may still be open here; it has no link any more. Raises as ``Directories.hold``.
    """
    with directories.hold(path) as held:
        here: os.stat_result | None = os.fstat(held)
    there = path
    while path:
        above, here_above = parent_of(path), None
        try:
            with directories.hold(above) as held:
                here_above = os.fstat(held)
                found = os.stat(path[len(above) : -1], dir_fd=held, follow_symlinks=directories.follows)
        except FileNotFoundError:
            if here is not None and here.st_nlink:
                return None
            there = above
        else:
            if here is None or not os.path.samestat(here, found):
                return None
        here, path = here_above, above
    return there if here is not None and os.path.samestat(here, os.stat(directories.base)) else None


_REASONS = {
    errno.ENOENT: Reason.LINK_DANGLING,
    errno.ENOTDIR: Reason.LINK_DANGLING,
    errno.ENAMETOOLONG: Reason.LINK_DANGLING,
    errno.ELOOP: Reason.LINK_LOOP,
    errno.EXDEV: Reason.LINK_OUTSIDE,
    errno.EACCES: Reason.SOURCE_DENIED,
}


class WayDown(Struct, frozen=True):
    """The directories from the root down to one: their identities, and when the youngest symlink among them changed.

    A directory on its own way is a loop. A file behind a symlink that was changed counts as changed,
    however old the file is.
    """

    identities: tuple[tuple[int, int], ...] = ()
    changed_ns: int = 0

    @property
    def has_symlink(self) -> bool:
        """Whether one of the directories is reached through a symlink."""
        return self.changed_ns > 0


NO_WAY = WayDown()


class Follower:
    """Follows symlinks below ``root``, a path of ``directories``."""

    def __init__(self, directories: Directories, root: str) -> None:
        self._directories, self._root = directories, root

    def way_to(self, prefix: str) -> WayDown:
        """The way down to the directory that holds ``prefix``, or to the root."""
        way = self.down(NO_WAY, "")
        for end, letter in enumerate(prefix[:-1], start=1):
            if letter == "/":
                way = self.down(way, prefix[:end])
        return way

    def down(self, way: WayDown, path: str) -> WayDown:
        """The way one directory further, to ``path`` (which is empty or ends in ``/``)."""
        try:
            with self._directories.hold(self._root + path) as descriptor:
                here = os.fstat(descriptor)
            changed_ns = self._turned_ns(path)
        except OSError as error:
            if error.errno not in _REASONS:
                raise
            return way  # the listing of the directory says so
        return WayDown((*way.identities, (here.st_dev, here.st_ino)), max(way.changed_ns, changed_ns))

    def entry(self, path: str, found: os.stat_result, way: WayDown, device: int) -> Entry:
        """The entry of a name in a directory at the end of ``way``; with its inode only where no symlink leads to it.

        For ``device`` see ``entry_of``.
        """
        behind = found
        changed_ns = way.changed_ns
        if stat.S_ISLNK(found.st_mode):
            try:
                behind, turned_ns = self._behind(path)
            except OSError as error:
                if error.errno not in _REASONS:
                    raise
                return replace(entry_of(path, found), problem=_REASONS[error.errno])
            changed_ns = max(changed_ns, turned_ns)
        if stat.S_ISDIR(behind.st_mode) and (behind.st_dev, behind.st_ino) in way.identities:
            return Entry(path, Kind.SYMLINK, 0, found.st_mtime_ns, found.st_ctime_ns, problem=Reason.LINK_LOOP)
        entry = entry_of(path, behind, -1 if way.has_symlink or behind is not found else device)
        return replace(entry, changed_ns=max(entry.changed_ns, changed_ns))

    def _behind(self, path: str) -> tuple[os.stat_result, int]:
        """The target of a symlink, never opened for reading, and when a symlink on the way to it last changed."""
        with self._directories.hold(self._root) as root:
            descriptor, changed_ns = walk(root, path, os.O_PATH)
        try:
            return os.fstat(descriptor), changed_ns
        finally:
            os.close(descriptor)

    def _turned_ns(self, path: str) -> int:
        parent, slash, name = path[:-1].rpartition("/")
        if not name:
            return 0
        with self._directories.hold(self._root + parent + slash) as above:
            found = os.stat(name, dir_fd=above, follow_symlinks=False)
        return self._behind(path[:-1])[1] if stat.S_ISLNK(found.st_mode) else 0


def find_followed(directories: Directories, root: str, path: str) -> Entry | None:
    """As ``find_source`` where symlinks are followed: the entry as a listing shows it."""
    if find_source(directories, root, path) is None:
        return None
    parent, separator, name = path.rpartition("/")
    follower = Follower(directories, root)
    try:
        with answered(root + path), directories.hold(root + parent + separator) as descriptor:
            found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            return follower.entry(path, found, follower.way_to(parent + separator), found.st_dev)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ItemError(Reason.SOURCE_CHANGED, "it went while it was looked up") from error
