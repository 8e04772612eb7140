"""The directory of a run below ``backup_to``: its own by a note in its staging directory, and closed while it runs.

| when                  | the directory                                                                      |
|-----------------------|------------------------------------------------------------------------------------|
| before it is needed   | is not there; one of its name is none of the run's                                 |
| it is made            | in the staging directory, with a mark that nobody can guess; noted, then renamed    |
| while the run goes on | has mode 0700: only the run's user can list, create or rename anything in it        |
| at the end of the run | gets mode and owner of the tree's root, as they were when it was made                |

The mark keeps it from being empty, so nobody can remove it, and no other directory gets the number of its inode. Who
removes the staging directory, the run itself or a later one that fences it, ends it before.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from typing import NamedTuple

from fanout.adapters.posix.attributes import apply_attributes
from fanout.adapters.posix.errors import GONE, HOLDS, LEADS_AWAY
from fanout.adapters.posix.fencing.fencing_token import LATER, FencingToken
from fanout.adapters.posix.fencing.noted_removal import leads_out
from fanout.adapters.posix.fencing.notes import read_note, write_note
from fanout.adapters.posix.fencing.own import against, is_marked, mark
from fanout.adapters.posix.listing.stats import stat_or_none
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.model.entry import Attributes
from fanout.model.errors import Superseded
from fanout.model.file_system import Staged
from fanout.model.path_rules import STAGING_PREFIX, UNFINISHED_MODE

# In the run's staging directory: the note, and the directory until it has its place.
KEPT_NOTE = f"{LATER}kept"
_MADE = f"{LATER}kept-directory"
# Inode, owner and mark; mode, owner and group of the tree's root; the path in the mount.
_NOTE = re.compile(rb"(\d+) (\d+) (\.fanout-staging-own-[0-9a-f]{32}) ([0-7]{1,4}) (\d+) (\d+) ([^/].*/)", re.DOTALL)
_ATTEMPTS = 10
# No entry at the root of a tree has such a name, so none of the backup, and no listing shows it.
_MARK = f"{STAGING_PREFIX}own-"


class _Note(NamedTuple):
    made: Staged
    mirrors: Attributes
    place: str


class KeptDirectory:
    """The directory at ``path`` of the mount, in which the run keeps what it replaces in the tree at ``root``."""

    def __init__(self, directories: Directories, token: FencingToken, root: str, place: str, path: str) -> None:
        self._directories, self._token, self._root = directories, token, root
        self._place, self.path = place, path
        self._note: _Note | None = None
        directories.on_entering.append(self._entering)

    def is_of_others(self) -> bool:
        """Whether something has its name, and is not what this run made. Raises ``OSError`` and ``ItemError``."""
        note = self._noted()
        try:
            with self._directories.hold(self._place) as above:
                found = os.stat(self._name, dir_fd=above, follow_symlinks=False)
        except OSError as error:
            if error.errno in GONE:
                return False
            raise
        return note is None or bool(against(found, note.made))

    def make(self) -> None:
        """Make it if no attempt of the run has. Raises ``OSError``, ``ItemError`` and ``Superseded``."""
        if self._note is not None:
            return
        for _ in range(_ATTEMPTS):
            note = self._noted()
            if note is not None:
                self._give_place(note)
                self._note = note
                return
            self._make()
        raise OSError(f"/{self.path} could not be made: other attempts began it and did not end")

    @property
    def _name(self) -> str:
        return self.path[len(self._place) : -1]

    def _noted(self) -> _Note | None:
        if self._note is None:
            with suppress(FileNotFoundError), self._directories.hold(self._token.path) as staging:
                return _noted_in(staging)
        return self._note

    def _make(self) -> None:
        """In the staging directory, where nobody else makes or moves a name; one of several attempts notes it."""
        with self._directories.hold(self._root) as root:
            mirrors = os.fstat(root)
        with self._directories.hold(self._token.path) as staging:
            with suppress(FileExistsError):
                os.mkdir(_MADE, 0o700, dir_fd=staging)
            try:
                made = os.open(_MADE, DIRECTORY_FLAGS, dir_fd=staging)
            except FileNotFoundError:  # another attempt gave it its place, and its note is there
                return
            try:
                found = os.fstat(made)
                staged = mark(made, Staged(str(found.st_ino), found.st_uid), _MARK)
            finally:
                os.close(made)
            _write_note(staging, staged, mirrors, self.path)

    def _give_place(self, note: _Note) -> None:
        """Give it its name, which replaces nothing that holds anything. Two attempts do it once."""
        with self._directories.hold(self._token.path) as staging:
            made = stat_or_none(staging, _MADE)
            if made is None or str(made.st_ino) != note.made.inode:
                return
            with self._directories.hold(self._place, create=True) as above:
                there = stat_or_none(above, self._name)
                if there is not None and str(there.st_ino) != note.made.inode:
                    raise self._swapped("is something that the run did not make")
                try:
                    os.rename(_MADE, self._name, src_dir_fd=staging, dst_dir_fd=above)
                except OSError as error:  # another attempt, or another user meanwhile: who enters it sees
                    if error.errno not in HOLDS | GONE:
                        raise

    def _swapped(self, problem: str) -> Superseded:
        what = f"/{self.path.removesuffix('/')} in backup_to {problem}"
        remedy = f"look who may write to /{self._place.removesuffix('/')}, then start the run again"
        return Superseded(self._token.run_id, f"{what}; {remedy}")

    def _entering(self, path: str, descriptor: int) -> None:
        """Enter it only while it is the run's and closed; what lies in it, only if it still was closed then."""
        if path == self.path:
            self._look(descriptor)
        elif path.startswith(self.path):
            from fanout.adapters.posix.paths.fresh import refresh_attributes  # brings ctypes

            with self._directories.hold(self.path) as here:
                refresh_attributes(here)
                self._look(here)

    def _look(self, descriptor: int) -> None:
        note = self._noted()
        found = os.fstat(descriptor)
        problem = "is a directory that the run did not make" if note is None else against(found, note.made)
        if not problem and stat.S_IMODE(found.st_mode) & 0o777 != stat.S_IRWXU:
            problem = "has ended with its run, or others changed its mode"
        if problem:
            raise self._swapped(problem)


def close_kept(directories: Directories, staging: int) -> None:
    """End the directory that the note in an open staging directory is about. Raises ``OSError``.

    It gets the attributes of the tree's root; an empty one goes. One that is not what was noted stays as it is.
    """
    note = _noted_in(staging)
    if note is None or leads_out(note.place):
        return
    path, _, name = note.place[:-1].rpartition("/")
    try:
        above = _opened(directories, path)
    except OSError as error:
        if error.errno in GONE | LEADS_AWAY:
            return
        raise
    try:
        directories.forget(note.place)
        _close(above, name, note)
    finally:
        os.close(above)


def _close(above: int, name: str, note: _Note) -> None:
    try:
        directory = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    except OSError as error:
        if error.errno in GONE | LEADS_AWAY:
            return
        raise
    try:
        found = os.fstat(directory)
        if str(found.st_ino) != note.made.inode or not is_marked(directory, note.made):
            return
        if not against(found, note.made):  # else an attempt ended it, and went no further
            _ended(directory, note.mirrors)
        for one in os.listdir(directory):
            if one.startswith(_MARK):
                with suppress(OSError):
                    os.rmdir(one, dir_fd=directory)
    finally:
        os.close(directory)


def _ended(directory: int, mirrors: Attributes) -> None:
    """Give it mode and owner of the tree's root; it stays closed where the owner cannot be set."""
    apply_attributes(directory, Attributes(UNFINISHED_MODE, mirrors.uid, mirrors.gid), UNFINISHED_MODE)
    after = os.fstat(directory)
    owned = (after.st_uid, after.st_gid) == (mirrors.uid, mirrors.gid)
    os.fchmod(directory, stat.S_IRWXU | ((mirrors.mode or 0) if owned else 0))


def _opened(directories: Directories, path: str) -> int:
    """A directory of the mount, by steps that follow no symlink; ``directories`` may keep this run out of it."""
    with directories.hold("") as base:
        here = os.open(".", DIRECTORY_FLAGS, dir_fd=base)
    for name in filter(None, path.split("/")):
        try:
            there = os.open(name, DIRECTORY_FLAGS, dir_fd=here)
        finally:
            os.close(here)
        here = there
    return here


def _write_note(staging: int, made: Staged, mirrors: os.stat_result, place: str) -> None:
    """The whole note under its name, if there is none."""
    owners = (mirrors.st_uid, mirrors.st_gid)
    told = (made.inode.encode(), made.owner, made.mark.encode(), stat.S_IMODE(mirrors.st_mode), *owners)
    write_note(staging, KEPT_NOTE, b"%s %d %s %o %d %d %s" % (*told, os.fsencode(place)), replaces=False)


def _noted_in(staging: int) -> _Note | None:
    found = read_note(staging, KEPT_NOTE, _NOTE)
    if found is None:
        return None
    inode, owner, marked, mode, uid, gid, place = found.groups()
    mirrors = Attributes(int(mode, 8), int(uid), int(gid))
    return _Note(Staged(inode.decode(), int(owner), marked.decode()), mirrors, os.fsdecode(place))
