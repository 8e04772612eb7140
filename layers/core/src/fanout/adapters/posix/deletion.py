"""Deleting what was listed and nothing else, below a root and never through a symlink.

The questions that every deletion on a mount asks before it.

| what goes             | inside       | published | run's backup | right to write | still what was looked at       |
|-----------------------|--------------|-----------|--------------|----------------|--------------------------------|
| a file or symlink     | ``Room``     | the same  | the same     | the same       | kind, size, mtime; at a source |
|                       |              |           |              |                | ctime and inode too            |
| a directory           | ``Room``     | the same  | the same     | the same       | it is empty; at a source the   |
|                       |              |           |              |                | mode and owner too             |
| a version, retired    | ``one_name`` | not live  | has none     | ``look``       | a directory                    |
| a staging directory   | ``one_name`` | no part   | no part      | is the right   | a directory                    |

A question is a method of ``Room`` that raises ``ItemError``; ``ask_by_name`` and ``ask`` ask all of them. The last one
is asked of the server, by ``paths.looks``: another client may have written since this one looked.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from threading import Lock

from fanout.adapters.posix.backup import Backup
from fanout.adapters.posix.errors import GONE, HOLDS, STALE, destination_error
from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.adapters.posix.listing.stats import entry_of
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.fresh import look_now
from fanout.adapters.posix.paths.looks import look_anew, look_at
from fanout.adapters.posix.publishing.protected import keep_published
from fanout.model.entry import Entry, Kind, permissions_of
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import is_unlinked_file, parent_of, reason_against_file_path

# A path that exists may be deeper than a destination takes.
_HARMLESS = (None, Reason.PATH_TOO_DEEP)


class Room:
    """Where a run deletes: below ``root``, a path of ``directories`` that is empty or ends in ``/``.

    ``kept`` is the request's ``backup_to`` if it lies on the mount, with ``/`` at its end; else empty.
    """

    def __init__(self, directories: Directories, root: str, token: FencingToken, kept: str = "") -> None:
        self.directories, self.root = directories, root
        self.token = token
        self._kept = kept

    def ask_by_name(self, path: str) -> None:
        """Raise ``ItemError`` for a path of the mount that must stay whatever it is; asked before it is looked at."""
        # A name may lead out of the mount; the root itself is no entry.
        below = path.removeprefix(self.root)
        reason = Reason.NAME_ABSOLUTE if not path.startswith(self.root) else reason_against_file_path(below)
        if reason not in _HARMLESS:
            raise ItemError(reason or Reason.NAME_EMPTY, f"/{path} is no entry below /{self.root}")
        if self._kept and (path.startswith(self._kept) or self._kept.startswith(f"{path.removesuffix('/')}/")):
            raise ItemError(Reason.IN_BACKUP, f"this run keeps there what it replaces: /{self._kept}")

    def ask(self, path: str, link: int | None = None) -> None:
        """Raise ``ItemError``, ``Superseded`` or ``OSError`` for what must stay; asked right before it goes.

        ``link`` is the open directory that holds the path, if it is a symlink.
        """
        keep_published(self.directories, path, link)
        self.token.look()


_LOCKS = 64
_FLAGS = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class OwnUnlinks:
    """The ctime of each file with several names, as this task's last unlink of one of them left it.

    Each name that goes moves the ctime of the file. So a task carries the ctime over from one of its own unlinks to the
    next, and any other ctime is somebody else's doing. All names that were proven are in one shard. Tasks that follow
    each other at one shard know nothing of each other's unlinks: names left then stay, and a retry compares them again.
    """

    def __init__(self) -> None:
        self._left_ns: dict[str, int] = {}
        self._locks = [Lock() for _ in range(_LOCKS)]

    def expected_ns(self, inode: str, listed_ns: int) -> int:
        """The ctime that a file has if nobody else touched it since it was listed."""
        return self._left_ns.get(inode, listed_ns)

    @contextmanager
    def one_at_a_time(self, inode: str) -> Iterator[None]:
        """Lets one thread at a time look at a file and unlink one of its names."""
        with self._locks[hash(inode) % _LOCKS]:
            yield

    def unlink(self, inode: str, name: str, directory: int, file: int | None) -> None:
        """Unlink a name, and note the ctime that the file has then; ``file`` is open, ``None`` if that was its last."""
        os.unlink(name, dir_fd=directory)
        if file is not None:
            self._left_ns[inode] = os.fstat(file).st_ctime_ns


def delete_listed(
    room: Room,
    entries: Sequence[Entry],
    backup: Backup | None = None,
    at_source: OwnUnlinks | None = None,
) -> dict[str, ItemError]:
    """See ``ports.tree.DeletingTree.delete``. Between the look at an entry and its end somebody may still write to it.

    ``at_source`` is given where the tree is a source, which a move deletes from.
    """
    problems = {}
    last = {entry.inode: entry for entry in entries if entry.inode}
    for entry in entries:
        further = last.get(entry.inode, entry)
        one_at_a_time = at_source.one_at_a_time(entry.inode) if at_source and entry.inode else nullcontext()
        try:
            with one_at_a_time:
                _delete_anew(room, entry, further, backup, at_source)
        except ItemError as error:
            problems[entry.path] = error
        except OSError as error:
            if error.errno not in GONE:
                problems[entry.path] = _error("unlink", error, at_source=at_source is not None)
    return problems


def _delete_anew(
    room: Room, listed: Entry, further: Entry, backup: Backup | None, at_source: OwnUnlinks | None
) -> None:
    """Delete an entry; below the directory that is there now, where the open one was removed by others."""
    path = room.root + listed.path
    try:
        _delete(room, path, listed, further, backup, at_source)
    except OSError as error:
        if error.errno not in STALE:
            raise
        room.directories.renew(path[: path.rfind("/") + 1])
        _delete(room, path, listed, further, backup, at_source)


def _delete(
    room: Room, path: str, listed: Entry, further: Entry, backup: Backup | None, at_source: OwnUnlinks | None
) -> None:
    room.ask_by_name(path)
    parent, separator, name = path.rpartition("/")
    look_anew(room.directories, parent + separator)
    with room.directories.hold(parent + separator) as directory:
        stats = look_now(name, directory)
        found = entry_of(listed.path, stats)
        pinned = (found.kind, found.size, found.mtime_ns) == (listed.kind, listed.size, listed.mtime_ns)
        if not pinned or found.kind is Kind.DIRECTORY:
            reason = Reason.SOURCE_CHANGED if at_source else Reason.DESTINATION_CHANGED
            raise ItemError(reason, "it has another size, time or kind than was listed")
        if at_source:
            _is_compared_file(stats, listed, at_source)
        room.ask(path, directory if found.kind is Kind.SYMLINK else None)
        if backup is not None:
            backup.keep(directory, path)
            room.token.look()  # the link may have taken long
        if at_source and listed.inode:
            with _file(room, stats, further.path, listed.path) as file:
                at_source.unlink(listed.inode, name, directory, file)
        else:
            _in_writable(room, path, directory, lambda: os.unlink(name, dir_fd=directory))


def _in_writable(room: Room, path: str, directory: int, remove: Callable[[], None]) -> None:
    """Remove a name of a directory; where that is denied, again once the directory is opened, if it is the run's."""
    try:
        remove()
    except PermissionError:
        if not room.directories.on_denied(parent_of(path), directory):
            raise
        remove()


@contextmanager
def _file(room: Room, stats: os.stat_result, *names: str) -> Iterator[int | None]:
    """A descriptor of a file that loses a name, by the first of ``names`` that is its own; ``None`` with its last name.

    By another name than the one that goes, if there is one: an NFS client keeps an open name, under a hidden one, and
    unlinks that when it is closed, which moves the ctime once more.
    """
    if stats.st_nlink == 1:
        yield None
        return
    descriptor = next((one for name in names if (one := _opened(room, stats, name)) is not None), None)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _opened(room: Room, stats: os.stat_result, listed: str) -> int | None:
    parent, separator, name = (room.root + listed).rpartition("/")
    with suppress(OSError, ItemError), room.directories.hold(parent + separator) as directory:
        descriptor = os.open(name, _FLAGS, dir_fd=directory)
        if os.path.samestat(os.fstat(descriptor), stats):
            return descriptor
        os.close(descriptor)
    return None


def _is_compared_file(found: os.stat_result, listed: Entry, own: OwnUnlinks) -> None:
    """Raise ``ItemError`` where somebody wrote to it, changed its attributes, or put another file in its place.

    Of a file with several names that may have been an unlink of a task that ended since. Nothing that can still be seen
    tells the two apart: a write in place may keep size, mtime and mode.
    """
    if listed.inode and str(found.st_ino) != listed.inode:
        raise ItemError(Reason.SOURCE_CHANGED, "it is another file than was compared")
    if not listed.inode and found.st_ctime_ns != listed.changed_ns:
        raise ItemError(Reason.SOURCE_CHANGED, "somebody touched it since it was compared")
    if listed.inode and found.st_ctime_ns != own.expected_ns(listed.inode, listed.changed_ns):
        raise ItemError(Reason.NAME_TOUCHED, "its ctime is not the one that was compared")


def _is_compared_directory(found: os.stat_result, listed: Entry) -> None:
    """Raise ``ItemError`` where somebody changed the mode or the owner since both ends were compared."""
    if permissions_of(found.st_mode, found.st_uid, found.st_gid) != listed.etag:
        raise ItemError(Reason.SOURCE_CHANGED, "its mode or owner is not the one that was compared")


def _error(operation: str, error: OSError, *, at_source: bool) -> ItemError:
    problem = destination_error(operation, error)
    if not at_source:
        return problem
    number = error.errno or 0
    reason = Reason.SOURCE_NOT_DELETED if problem.reason is Reason.DESTINATION_DENIED else problem.reason
    return ItemError(reason, f"{operation} at the source: {errno.errorcode.get(number, number)}")


def _what_it_holds(room: Room, path: str) -> str:
    with suppress(OSError, ItemError), room.directories.hold(path) as directory, os.scandir(directory) as found:
        if all(is_unlinked_file(one.name) for one in found):
            return "it holds files that were deleted and are still open at an NFS client (.nfs*)"
    return "it holds an entry that was not deleted"


def remove_empty(room: Room, entry: Entry, backup: Backup | None = None, *, at_source: bool = False) -> None:
    """See ``FileSystem.remove_directory``; ``rmdir`` takes neither a symlink nor what holds anything."""
    path = room.root + entry.path
    room.ask_by_name(path)
    parent, separator, name = path[:-1].rpartition("/")
    try:
        room.directories.forget(path)
        if at_source and entry.etag:
            _is_compared_directory(look_at(room.directories, path[:-1]), entry)
        with room.directories.hold(parent + separator) as directory:
            room.ask(path)
            if backup is not None:
                backup.keep_directory(path)
                room.directories.forget(path)
                room.token.look()
            _in_writable(room, path, directory, lambda: os.rmdir(name, dir_fd=directory))
    except OSError as error:
        if error.errno in HOLDS:
            raise ItemError(Reason.NOT_EMPTY, _what_it_holds(room, path)) from error
        if error.errno != errno.ENOENT:
            raise _error("rmdir", error, at_source=at_source) from error
