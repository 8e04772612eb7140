"""Keeps what a run replaces or deletes under ``<backup_to>/<run>/<path>``, by hard link and before it goes.

| at ``<path>`` in the backup        | at the destination               | then                            |
|------------------------------------|----------------------------------|---------------------------------|
| nothing                            | anything but a directory         | linked                          |
| the very file of the destination   | that file                        | kept already, by another attempt |
| another file                       | of the size and mtime of the new | kept already, and replaced      |
| another file                       | anything else                    | fails: others wrote there since |

A link has bytes, owner, mode, times and extended attributes of the file, because it is the file. A directory of the
backup is made when a file needs it, with mode and owner of the directory at the destination. Everything lies in the
run's own directory, which has mode 0700 until the run ends; a directory whose owner cannot be set keeps that mode. So
nobody can read in a backup what that user could not read at the destination.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from fanout.adapters.posix.attributes import apply_attributes
from fanout.adapters.posix.errors import no_room_for_name
from fanout.adapters.posix.fencing.fencing_token import FencingToken
from fanout.adapters.posix.fencing.kept_directory import KeptDirectory
from fanout.adapters.posix.fencing.mirrored_directories import MirroredDirectories, swapped
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.publishing.protected import published_above
from fanout.model.entry import Attributes
from fanout.model.errors import AccessDenied, InvalidRequest, ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import UNFINISHED_MODE, is_unfinished, parent_of

_FIELD = "backup_to"


class Backup:
    """The backup of a run, at ``place`` (with ``/`` at its end) of the mount on which the tree at ``root`` lies."""

    def __init__(self, directories: Directories, root: str, place: str, run_id: str) -> None:
        self._directories, self._root = directories, root
        self._place = place
        self._run = f"{place}{run_id}/"
        self._own: KeptDirectory | None = None
        self._notes: MirroredDirectories | None = None
        # The inodes of directories of the tree for which this process has one in the backup.
        self._mirrored: dict[str, int] = {}

    def stage_in(self, token: FencingToken) -> None:
        """Make the run's directory by way of its staging directory."""
        self._own = KeptDirectory(self._directories, token, self._root, self._place, self._run)
        self._notes = MirroredDirectories(self._directories, token)

    def lies_below(self, path: str) -> bool:
        """Whether a directory of the mount is ``backup_to``, or leads to it."""
        return self._place.startswith(path)

    def check(self) -> None:
        """Look whether files can be kept there. Nothing is made: a later check may refuse the run.

        Raises ``InvalidRequest`` or ``AccessDenied`` where nothing can be kept.
        """
        where = f"/{self._place}"
        try:
            published = published_above(self._directories, self._place)
            if published is not None:
                problem = f"{where} lies in the versions of the published tree /{published}, which a run would add to"
                raise InvalidRequest(_FIELD, problem, "name another directory of the destination's file system")
            there = self._directories.nearest(self._place)
            with self._directories.hold(there) as here, self._directories.hold(self._root) as root:
                same = os.fstat(here).st_dev == os.fstat(root).st_dev
                writable = os.access(".", os.W_OK | os.X_OK, dir_fd=here, effective_ids=True)
                if there != self._place:
                    _refuse_file(self._place[len(there) :].partition("/")[0], here)
        except ItemError as error:
            raise InvalidRequest(_FIELD, f"{where}: {error.message}", "name its real path") from error
        except NotADirectoryError as error:
            raise InvalidRequest(_FIELD, f"{where} is not a directory", "name one, or a path that is free") from error
        except OSError as error:
            remedy = "check the access point's identity and the directory's mode and owner"
            raise AccessDenied("writing", _FIELD, f"{remedy} ({error.strerror})", place=where) from error
        if not same:
            problem = f"{where} lies on another file system than /{self._root}, and a file there is kept by a hard link"
            raise InvalidRequest(_FIELD, problem, "name a directory of the destination's file system")
        if self._own is not None and self._own.is_of_others():
            problem = f"{where} holds a directory that this run did not make: /{self._run.removesuffix('/')}"
            raise InvalidRequest(_FIELD, problem, "move it away, or start the run under another name")
        if not writable:
            remedy = f"give the function's user write and search permission on /{there}"
            raise AccessDenied("writing", _FIELD, remedy, place=where)

    def enter(self) -> None:
        """Raise what the tree raises for a directory that is not to be entered, before anything is to be kept."""
        with suppress(OSError, ItemError):  # whatever else is wrong shows when something is kept
            self._directories.hold(self._place).let_go()

    def keep(self, directory: int, path: str, new: os.stat_result | None = None) -> None:
        """Keep what is at a path of the mount, in ``directory``, before ``new`` replaces it or it is deleted.

        What is missing is not kept. Raises ``OSError``, and ``ItemError`` where it is unknown what is to be kept.
        """
        parent, slash, name = path.removeprefix(self._root).rpartition("/")
        with self._directories.hold(self._mirrored_directory(parent + slash, directory)) as kept:
            try:
                os.link(name, name, src_dir_fd=directory, dst_dir_fd=kept, follow_symlinks=False)
            except FileExistsError:
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
                known = os.stat(name, dir_fd=kept, follow_symlinks=False)
                if not (os.path.samestat(found, known) or _is_of(found, new)):
                    problem = f"something else was written there after /{self._run} had kept what it replaces"
                    raise ItemError(Reason.DESTINATION_CHANGED, problem) from None
            except OSError as error:
                full = no_room_for_name(error)
                if full is not None:
                    raise full from error
                if not isinstance(error, FileNotFoundError):
                    raise
                with suppress(FileNotFoundError):  # then there is nothing to keep
                    os.stat(name, dir_fd=directory, follow_symlinks=False)
                    raise self._removed() from None

    def keep_directory(self, path: str) -> None:
        """Keep a directory of the mount, before it is removed; one that is missing is not kept."""
        with suppress(NotADirectoryError):
            try:
                self._directories.hold(path).let_go()
            except FileNotFoundError:
                return
            self._mirrored_directory(path.removeprefix(self._root))

    def _removed(self) -> OSError:
        return OSError(f"/{self._run} was removed while the run kept files there")

    def _mirrored_directory(self, path: str, directory: int | None = None) -> str:
        """The directory of the backup for one of the tree, which is open as ``directory``; made with those above it."""
        with self._directories.hold(self._root + path) as here:
            if directory not in (None, here) and not os.path.samestat(os.fstat(directory or 0), os.fstat(here)):
                raise swapped()
            missing, above = [], path
            while above and self._mirrored.get(above) != self._inode_of(above):
                missing.append(above)
                above = parent_of(above)
            if not above:
                self._begin()
            for one in reversed(missing):
                self._mirror(one)
        return self._run + path

    def _inode_of(self, path: str) -> int:
        held = self._directories.hold(self._root + path)
        with held:
            return held.inode

    def _begin(self) -> None:
        assert self._own is not None
        self._own.make()
        try:
            self._directories.hold(self._run).let_go()
        except FileNotFoundError:
            raise self._removed() from None

    def _mirror(self, path: str) -> None:
        """Make one directory, and give it mode and owner of the tree's once: later the tree's may be another one."""
        assert self._notes is not None
        with self._directories.hold(self._root + path) as original, self._directories.hold(self._run):
            inode = self._inode_of(path)
            if os.stat("..", dir_fd=original).st_ino != self._inode_of(parent_of(path)):
                raise swapped()
            self._notes.require(self._root + path, inode)
            with self._directories.hold(self._run + path, create=True) as made:
                if is_unfinished(os.fstat(made).st_mode):
                    _dress(made, os.fstat(original))
        self._mirrored[path] = inode


def _dress(made: int, found: os.stat_result) -> None:
    apply_attributes(made, Attributes(UNFINISHED_MODE, found.st_uid, found.st_gid), UNFINISHED_MODE)
    after = os.fstat(made)
    owned = (after.st_uid, after.st_gid) == (found.st_uid, found.st_gid)
    os.fchmod(made, stat.S_IRWXU | (stat.S_IMODE(found.st_mode) if owned else 0))


def _refuse_file(name: str, directory: int) -> None:
    """Raise ``NotADirectoryError`` where something is in the place of a directory that is to be made."""
    with suppress(FileNotFoundError):
        os.stat(name, dir_fd=directory, follow_symlinks=False)
        raise NotADirectoryError(name)


def _is_of(found: os.stat_result, new: os.stat_result | None) -> bool:
    """Whether another attempt has put the new file there."""
    return new is not None and (found.st_size, found.st_mtime_ns) == (new.st_size, new.st_mtime_ns)
