"""The run's own directory at the destination's root, where files lie until they are whole.

A rename puts a staged file in place, so a reader sees the old file or the new one. One removal clears leftovers.
Creations spread over directories and so do not queue behind each other (EFS tutorial: 127 files/s in one directory,
1,136 over 32).
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fanout.adapters.posix.errors import GONE, STALE, TAKEN
from fanout.adapters.posix.fencing.fencing_token import COPIED, LATER, FencingToken
from fanout.adapters.posix.fencing.kept_directory import KEPT_NOTE, close_kept
from fanout.adapters.posix.fencing.made_marks import MADE, MadeMarks
from fanout.adapters.posix.fencing.mirrored_directories import MIRRORED
from fanout.adapters.posix.fencing.noted_removal import NotedRemoval, leads_out, remove_noted
from fanout.adapters.posix.fencing.placed_files import PLACED, PlacedFiles
from fanout.adapters.posix.other_kinds import BEGAN
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.held_directory import HeldDirectory
from fanout.adapters.posix.removal import remove_directory
from fanout.adapters.posix.write_protected import NOTES, WriteProtected
from fanout.facts import tuning
from fanout.model.errors import FanoutError, ItemError, Superseded
from fanout.model.file_system import Staged
from fanout.model.outcome import Reason
from fanout.model.path_rules import DOCTOR_PREFIX, PROBE_PREFIX, STAGING_PREFIX, parent_of
from fanout.work.parallel import side_by_side
from fanout.work.processes.one_at_a_time import OneAtATime, next_number

if TYPE_CHECKING:
    from fanout.adapters.posix.placing import Placing
    from fanout.adapters.posix.publishing.linking import MadeFiles

# Directories of an attempt, which its processes share, because each costs three operations. A kernel makes and removes
# the names of one directory one after the other, for a third of a file's time: two threads find room in one, four wait
# for each other.
_DIRECTORIES = tuning.CLIENT_OPERATIONS_IN_FLIGHT // 2
# So many lie in the attempt's directory, and each other one in one of these.
_ROOTS = 4
# Names in the run's directory that stay until it goes itself.
_LAST = (COPIED, NOTES, BEGAN, PLACED, KEPT_NOTE, MADE, MIRRORED)
_OF_NO_RUN = (PROBE_PREFIX, DOCTOR_PREFIX)
# Of all trees of the process: several of one attempt make files side by side.
_NUMBERS = itertools.count()


class Staging:
    """Names for staged files; ``nonce`` keeps the attempts of a task apart."""

    def __init__(
        self,
        directories: Directories,
        root: str,
        run_id: str,
        nonce: str,
        placing: Placing | None = None,
        made: MadeFiles | None = None,
    ) -> None:
        """Without ``placing`` a file that is there is replaced, and not kept. ``made`` takes what gets its place."""
        self._directories = directories
        self._root = root
        self.token = FencingToken(directories, root, run_id)
        self.name_of_run = self.token.name
        self.write_protected = WriteProtected(directories, self.token, root)
        self.placed = PlacedFiles(directories, self.token)
        self.marks = MadeMarks(directories, self.token, root)
        self.path = self.token.path
        self._nonce = nonce
        self._placing = placing if placing is not None and not placing.replaces_all else None
        self._made = made
        self._is_later = False
        self._thread = threading.local()
        self._renaming = OneAtATime()

    def place(self) -> tuple[str, str]:
        """A directory (a path of ``Directories``) and a file name in it that no other attempt uses."""
        here = self._thread
        if not hasattr(here, "directory"):
            here.directory = self.path + self._directory_of(next_number() % _DIRECTORIES)
        return here.directory, _unused_name()

    def _directory_of(self, number: int) -> str:
        mine = f"{LATER}{self._nonce}" if self._is_later else self._nonce
        return f"{mine}/{number % _ROOTS}/{f'{number}/' if number >= _ROOTS else ''}"

    def above(self, path: str) -> HeldDirectory:
        """The directory of a path, made if it is not there, for a staged file to get its place in.

        It is opened only where what lies there decides.
        """
        parent = path[: path.rfind("/") + 1]
        return self._directories.hold(parent, create=True, opens=self._placing is not None)

    def move(self, staged: int, staged_name: str, directory: int, path: str, *, named: bool = False) -> None:
        """Give a staged file its place at a path, in a directory, at once; ``named``: it is to get further names."""
        if named:
            self.placed.note(path, os.stat(staged_name, dir_fd=staged, follow_symlinks=False))
        made = self._made.staged(path, staged, staged_name) if self._made is not None else None
        self.rename(staged, staged_name, directory, path)
        if self._made is not None and made is not None:
            self._made.add(made)

    def rename(self, staged: int, staged_name: str, directory: int, path: str) -> None:
        """As ``move``, for a further name of a file, which is no copy of its own.

        Where others removed the directory meanwhile, or put another in its place, the file goes to the one that is
        there, made if there is none. It fails where the staged file itself is gone: another attempt gave it its place,
        or the run's staging directory was removed. A directory in the file's place may be one that this NFS client saw
        before and that is gone: the server is asked.
        """
        try:
            self._rename(staged, staged_name, directory, path)
        except PermissionError:
            if not self._directories.on_denied(parent_of(path), directory):
                raise
            self._rename(staged, staged_name, directory, path)
        except OSError as error:
            if error.errno not in GONE | STALE | TAKEN:
                raise
            from fanout.adapters.posix.paths.fresh import is_there_again  # brings ctypes, for what is rare

            if not is_there_again(staged, staged_name):
                raise
            parent = parent_of(path)
            self._directories.renew(parent)
            with self._directories.hold(parent, create=True) as place:
                try:
                    self._rename(staged, staged_name, place, path)
                except IsADirectoryError:
                    if not self._directories.on_taken(path):
                        raise
                    self._rename(staged, staged_name, place, path)

    def _rename(self, staged: int, staged_name: str, directory: int, path: str) -> None:
        """Give a staged file its place by a rename or by a link.

        A file that is there is replaced, or what the request says becomes of it: see ``Placing``.
        A kernel lets one rename between two directories of a mount through at a time, for as
        long as the server takes. So one thread of all processes of the function renames: one operation. Threads that
        find it busy link the file to its name and unlink the staged one: two, if ``send_written`` spares the question
        for access (``fs.protected_hardlinks``); these overlap over directories. A name that exists already, or a file
        that cannot be linked, takes a rename.
        """
        if self._placing is not None:
            self._placing.place(staged, staged_name, directory, path, self.placed)
            return
        name = path.rpartition("/")[2]
        if self._renaming.begin():
            try:
                os.rename(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory)
            finally:
                self._renaming.end()
            return
        try:
            os.link(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory, follow_symlinks=False)
        except OSError:
            os.rename(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory)
            return
        with suppress(OSError):  # it is in its place; the other name goes with the staging directory
            os.unlink(staged_name, dir_fd=staged)

    def name(self) -> str:
        """A file name that no other attempt uses."""
        return f"{self._nonce}-{_unused_name()}"

    def works_later(self) -> None:
        """Stage where attempts do that work after the copies. Before the first ``place``."""
        self._is_later = True

    def end_copies(self) -> None:
        """Have no attempt at a copy give a file its place from now on; this one ``works_later``.

        Blocks of big files stay: they lie in the run's directory itself.
        """
        self.works_later()
        self.token.end_copies()
        with self._directories.hold(self.path) as run:
            with os.scandir(run) as found:
                names = [one.name for one in found if one.is_dir(follow_symlinks=False)]
            attempts = [name for name in names if not name.startswith(LATER)]
            side_by_side(lambda name: remove_directory(run, name), attempts, tuning.CLIENT_OPERATIONS_IN_FLIGHT)

    def clear(self) -> None:
        """Remove the staged files of every attempt of the run, which may go on writing."""
        remove_noted(self._directories, self._root, self.name_of_run, self._own(), keep=_LAST)

    @contextmanager
    def made(self) -> Iterator[None]:
        """The run's directory, made if it is not there. One that was made now goes where something else is wrong."""
        is_new = self.token.make()
        try:
            yield
        except Exception:
            if is_new:  # nothing has noted it yet
                with suppress(OSError, FanoutError, ItemError):
                    self.remove()
            raise

    def close_opened(self) -> None:
        """Give the directories that the run opened their modes back. Raises ``OSError``."""
        with suppress(FileNotFoundError), self._directories.hold(self.path) as run:
            self.write_protected.close(self._root, run)

    def remove(self) -> str:
        """Remove the run's directory with all that is in it, and with it the run's right to write.

        Returns what is wrong if another client put something else in the directory's place, which is left there.
        """
        left = remove_noted(self._directories, self._root, self.name_of_run, self._own(), self._end).left
        return f"{left}: what another client put in its place was left there" if left else ""

    def _end(self, place: str, run: int) -> None:
        """Give what a run opened or closed for its time its mode; ``run`` is its open directory in ``place``."""
        self.write_protected.close(place, run)
        close_kept(self._directories, run)

    def _take_over(self, place: str, run: int) -> None:
        """End what another run began, and take over which directories it made."""
        self.marks.take_over(run)
        self._end(place, run)

    def _own(self) -> tuple[Staged, ...]:
        """The run's directory, as it is noted; where it is not noted, as it is entered."""
        staged = self.token.staged()
        if staged is None and not self.token.has_notes:
            with suppress(FileNotFoundError, NotADirectoryError, Superseded):
                self.token.is_there()
            staged = self.token.staged()
        return () if staged is None else (staged,)

    def others(self) -> list[str]:
        """The other runs that have a directory at this root."""
        with self._directories.hold(self._root) as root, os.scandir(root) as found:
            staged = [one for one in found if one.name.startswith(STAGING_PREFIX) and one.name != self.name_of_run]
            names = sorted(one.name for one in staged if one.is_dir(follow_symlinks=False))
        return [name.removeprefix(STAGING_PREFIX) for name in names if not name.startswith(_OF_NO_RUN)]

    def fence(self, place: str, run_id: str, made: Collection[Staged]) -> NotedRemoval:
        """Remove the directory of another run, which is at ``place``, where it is one of those that the run ``made``.

        A place or a name that leads out of the mount is no run's.
        """
        if leads_out(place) or "/" in run_id:
            return NotedRemoval(removed=False)
        try:
            return remove_noted(self._directories, place, f"{STAGING_PREFIX}{run_id}", made, self._take_over)
        except ItemError as error:
            if error.reason is not Reason.LINK_IN_PATH:
                raise
            return NotedRemoval(removed=False)


def _unused_name() -> str:
    """A name that no other tree of this process, and no other process of the function, makes."""
    return f"{os.getpid()}-{next(_NUMBERS)}"
