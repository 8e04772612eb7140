"""The run's own directory at the destination's root, where files stand until they are whole.

A staged file gets its place at once, so a reader sees the old file or the new one, a name
never grows by a suffix, and one removal clears what a crash left. Creations spread over one
directory a thread and so do not queue behind each other (EFS tutorial: 127 files/s in one
directory, 1,136 over 32).
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from fanout.adapters.posix.directories import Directories
from fanout.adapters.posix.removal import remove_tree
from fanout.domain import limits
from fanout.domain.names import STAGING_PREFIX

# Chosen: far over the 15 minutes of an attempt, and a run's own clean-up comes at its end.
ABANDONED_SECONDS = 7 * 86_400
# Directories of a process of an attempt. Two threads share one at most: their creations overlap with the rest of
# their work.
_DIRECTORIES = 32


class Staging:
    """Names for staged files; ``nonce`` keeps the attempts of a task apart."""

    def __init__(self, directories: Directories, root: str, run_id: str, nonce: str) -> None:
        self._directories = directories
        self.path = f"{root}{STAGING_PREFIX}{run_id}/"
        self._nonce = nonce
        self._numbers = itertools.count()
        self._threads = itertools.count()
        self._thread = threading.local()
        self._renaming = threading.Lock()
        self._pid = os.getpid()

    def place(self) -> tuple[str, str]:
        """A directory (a path of ``Directories``) and a file name in it that nobody else uses."""
        if not hasattr(self._thread, "directory"):
            own = next(self._threads) % _DIRECTORIES
            self._thread.directory = f"{self.path}{self._nonce}-{os.getpid()}/{own}/"
        return self._thread.directory, str(next(self._numbers))

    def move(self, staged: int, staged_name: str, directory: int, name: str) -> None:
        """Give a staged file its place in a directory, at once, replacing a file that is there.

        A kernel lets one rename between two directories of a mount through at a time, for as
        long as the server takes. So one thread of the process that made this renames; those that
        find it at that, and those of other processes, link the file to its name and unlink the
        staged one, which overlap over directories. What exists already, and what can not be
        linked, is renamed.
        """
        if self._pid == os.getpid() and self._renaming.acquire(blocking=False):
            try:
                os.rename(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory)
            finally:
                self._renaming.release()
            return
        try:
            os.link(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory, follow_symlinks=False)
        except OSError:
            os.rename(staged_name, name, src_dir_fd=staged, dst_dir_fd=directory)
            return
        with suppress(OSError):  # it is in its place; the other name goes with the staging directory
            os.unlink(staged_name, dir_fd=staged)

    def token(self) -> str:
        """A file name that no other attempt uses."""
        return f"{self._nonce}-{next(self._numbers)}"

    def remove_abandoned(self) -> None:
        """Remove what runs staged that were stopped before they could: untouched for ``ABANDONED_SECONDS``.

        Every attempt of a run that still goes makes a directory of its own in the run's, which moves
        the run's mtime. Ages are by the file system's clock, against this run's own directory.
        """
        parent, _, own = self.path[:-1].rpartition("/")
        with self._directories.hold(f"{parent}/" if parent else "") as above, os.scandir(above) as found:
            now_ns = os.stat(own, dir_fd=above, follow_symlinks=False).st_mtime_ns
            for name in [one.name for one in found if one.name.startswith(STAGING_PREFIX)]:
                seen = os.stat(name, dir_fd=above, follow_symlinks=False)
                if stat.S_ISDIR(seen.st_mode) and now_ns - seen.st_mtime_ns > ABANDONED_SECONDS * 10**9:
                    # Another run may remove it at the same moment; what stays is tried again by the next one.
                    with suppress(OSError):
                        remove_tree(above, name)

    def remove(self) -> str:
        """Remove the staged files of every attempt of the run.

        Returns what is wrong if another client put something else in the directory's place, which is left there.
        """
        self._directories.forget(self.path)
        parent, _, name = self.path[:-1].rpartition("/")
        with self._directories.hold(f"{parent}/" if parent else "") as above:
            try:
                staging = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
            except FileNotFoundError:
                return ""
            except NotADirectoryError:
                return f"{self.path[:-1]} is no directory any more: what another client put in its place was left there"
            try:
                with ThreadPoolExecutor(limits.CLIENT_OPERATIONS_IN_FLIGHT) as pool:
                    list(pool.map(lambda path: remove_tree(staging, path), os.listdir(staging)))
            finally:
                os.close(staging)
            remove_tree(above, name)
        return ""


def open_staged(directory: int, name: str, mode: int) -> tuple[int, os.stat_result]:
    """A new file, open for writing, that nobody else can have put there.

    Without O_EXCL, for which NFS pays one more operation: the directory and the name are this
    attempt's own, and a file that was there already has bytes or another name.
    """
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=directory)
    try:
        found = os.fstat(descriptor)
        if found.st_nlink != 1 or found.st_size:
            raise FileExistsError(errno.EEXIST, "a staged file was there already")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, found
