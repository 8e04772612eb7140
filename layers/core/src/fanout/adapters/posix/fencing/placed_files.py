"""Which files with several names a run put in their places: noted in its staging directory, each before it is there.

A further name is linked to a name, in a directory where others may write too. So FinishTree compares the file that it
linked with what was noted of the first name. Inode and owner are noted: a number that was free may be given to a file
of another user, and nobody can make a file of the run's.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from hashlib import sha256

from fanout.adapters.posix.errors import GONE
from fanout.adapters.posix.fencing.fencing_token import LATER, FencingToken
from fanout.adapters.posix.paths.directories import Directories
from fanout.model.errors import ItemError, Superseded
from fanout.model.outcome import Reason

PLACED = f"{LATER}placed"
_NOTHING = "."  # a note is a symlink, which takes one operation, and its name says all


class PlacedFiles:
    """The notes of a run; a path is one of the mount, ``directories`` are those of it."""

    def __init__(self, directories: Directories, token: FencingToken) -> None:
        self._directories, self._token = directories, token
        self._known: set[str] = set()

    def note(self, path: str, staged: os.stat_result) -> None:
        """Note a staged file that is about to get its place. Raises ``OSError``."""
        note = _name_of(path, staged)
        with self._directories.hold(self._directory_of(note), create=True) as notes, suppress(FileExistsError):
            os.symlink(_NOTHING, note, dir_fd=notes)

    def holds(self, path: str, found: os.stat_result) -> bool:
        """Whether an attempt of the run put a file at a path, or is about to. Raises ``OSError``."""
        note = _name_of(path, found)
        if note not in self._known:
            try:
                with self._directories.hold(self._directory_of(note)) as notes:
                    os.stat(note, dir_fd=notes, follow_symlinks=False)
            except OSError as error:
                if error.errno not in GONE:
                    raise
                return False
            self._known.add(note)
        return True

    def require(self, path: str, found: os.stat_result) -> None:
        """Raise ``ItemError`` for a file that no attempt of the run put at a path; ``Superseded`` where all is gone."""
        if self.holds(path, found):
            return
        if not self._token.is_there():
            raise Superseded(self._token.run_id)
        problem = "its first name is another file than the run put there: others wrote there"
        raise ItemError(Reason.DESTINATION_CHANGED, problem)

    def _directory_of(self, note: str) -> str:
        """Creations in one directory queue behind each other."""
        return f"{self._token.path}{PLACED}/{note[0]}/"


def _name_of(path: str, found: os.stat_result) -> str:
    told = f"{stat.S_IFMT(found.st_mode):o} {found.st_ino} {found.st_uid} "
    return sha256(told.encode() + os.fsencode(path)).hexdigest()
