"""The directory that a probe works in, below a mount and never through a symlink.

Its name, its owner and a marker in it say that it is a probe's; what has not all of these is left alone. A probe
makes a directory in it for each of its tasks, which moves its mtime. If that is older than ``ABANDONED_SECONDS`` by the
file system's clock, a stopped probe left it.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fanout.adapters.posix.attributes import open_staged
from fanout.adapters.posix.errors import GONE, LEADS_AWAY, destination_error
from fanout.adapters.posix.fencing.own import against_owner, owner_here
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.adapters.posix.paths.held_directory import HeldDirectory
from fanout.facts import tuning
from fanout.model.path_rules import PROBE_PREFIX
from fanout.work.parallel import side_by_side

MARKER = "of-a-probe"
MARKER_TEXT = b"fanout probe: the next one removes this directory\n"
# Chosen: twice the longest that a task of a probe takes, the time limit of its function.
ABANDONED_SECONDS = 300


class PosixProbeFile:
    """A ``ProbeFile`` on a mount."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, offset: int, data: bytes | memoryview) -> None:
        with _errors("write"):
            if os.pwrite(self._descriptor, data, offset) != len(data):
                raise OSError(errno.ENOSPC, "a block was written in part")

    def read(self, offset: int, length: int) -> int:
        with _errors("read"):
            return len(os.pread(self._descriptor, length, offset))

    def sync(self) -> None:
        with _errors("fsync"):
            os.fsync(self._descriptor)

    def forget(self) -> None:
        with _errors("fadvise"):
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def close(self) -> None:
        with _errors("close"):
            os.close(self._descriptor)


class PosixProbeDirectory:
    """A ``ports.probe.ProbeDirectory`` on a mount. ``parent`` is relative to ``base``, empty for the base itself."""

    def __init__(self, base: Path, parent: str, probe_id: str, client: str) -> None:
        self._directories = Directories(str(base), mode_of=lambda _path: stat.S_IRWXU)
        self._parent = f"{parent}/" if parent else ""
        self._name = f"{PROBE_PREFIX}{probe_id}"
        self._root = f"{self._parent}{self._name}/"
        self._client = client
        self._owner: int | None = None

    @property
    def client(self) -> str:
        return self._client

    def free_bytes(self) -> int:
        with _errors("statvfs"), self._directories.hold(self._parent) as above:
            found = os.statvfs(above)
            return found.f_bavail * found.f_frsize

    def prepare(self) -> Sequence[str]:
        with _errors("mkdir"), self._directories.hold(self._root, create=True) as own:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            marker = os.open(MARKER, flags, 0o600, dir_fd=own)
            try:
                self._owner = os.fstat(marker).st_uid
                problem = against_owner(os.fstat(own), self._owner)
                if problem:
                    raise PermissionError(errno.EPERM, f"{self._root[:-1]} {problem}")
                os.pwrite(marker, MARKER_TEXT, 0)
                os.utime(own)
                now = os.fstat(own).st_mtime
            finally:
                os.close(marker)
        with _errors("remove what a probe left"), self._directories.hold(self._parent) as above:
            found = [name for name in sorted(os.listdir(above)) if name.startswith(PROBE_PREFIX)]
            others = [name for name in found if name != self._name]
            return [name for name in others if not _removed(above, name, now - ABANDONED_SECONDS, self._owner)]

    def claim(self, name: str) -> bool:
        with _errors("mkdir"), self._directories.hold(self._root) as own:
            try:
                os.mkdir(name, 0o700, dir_fd=own)
            except FileExistsError:
                return False
            return True

    def make(self, path: str) -> None:
        with _errors("mkdir"), self._directories.hold(f"{self._root}{path}/", create=True):
            return

    def files(self, path: str) -> Sequence[str]:
        with _errors("readdir"):
            return sorted(self._files(path))

    def _files(self, path: str) -> Iterator[str]:
        try:
            held = self._directories.hold(f"{self._root}{path}/")
        except FileNotFoundError:
            return
        with held as directory, os.scandir(directory) as found:
            entries = [(one.name, one.is_dir(follow_symlinks=False)) for one in found if not one.is_symlink()]
        for name, is_directory in entries:
            if is_directory:
                yield from self._files(f"{path}/{name}")
            else:
                yield f"{path}/{name}"

    def create(self, path: str, *, shared: bool = False) -> PosixProbeFile:
        """See ``ports.probe.ProbeDirectory``; made as a copy makes its files, without O_EXCL."""
        with _errors("create"):
            if shared:
                return PosixProbeFile(self._open(path, os.O_WRONLY | os.O_CREAT))
            with self._above(path) as above:
                return PosixProbeFile(open_staged(above, path.rpartition("/")[2], 0o600)[0])

    def open(self, path: str) -> PosixProbeFile:
        with _errors("open"):
            return PosixProbeFile(self._open(path, os.O_RDONLY))

    def _open(self, path: str, flags: int) -> int:
        with self._above(path) as above:
            return os.open(path.rpartition("/")[2], flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=above)

    def _above(self, path: str) -> HeldDirectory:
        directory = path.rpartition("/")[0]
        return self._directories.hold(f"{self._root}{directory}/" if directory else self._root)

    def remove(self) -> None:
        self._directories.forget(self._root)
        with _errors("remove"), self._directories.hold(self._parent) as above, suppress(FileNotFoundError):
            _remove(above, self._name, self._owner)

    def close(self) -> None:
        self._directories.close()


@contextmanager
def _errors(operation: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise destination_error(operation, error) from error


def _removed(above: int, name: str, untouched_since: float, owner: int) -> bool:
    """Remove what another probe of the same user left; whether nothing of a probe that works is there."""
    try:
        directory = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    except OSError as error:
        if error.errno in GONE | LEADS_AWAY:
            return True  # gone, or no directory: none of ours
        raise
    try:
        if against_owner(os.fstat(directory), owner):
            return True  # others made it, or could put something into it
        works = os.fstat(directory).st_mtime > untouched_since
        if not _is_marked(directory):
            # Made by a probe that ended before it marked it, or not by a probe; with anything in it, it stays.
            if not works:
                with suppress(OSError):
                    os.rmdir(name, dir_fd=above)
            return True
    finally:
        os.close(directory)
    if works:
        return False
    with suppress(FileNotFoundError):  # another probe may remove it at the same moment
        _remove(above, name, owner)
    return True


def _is_marked(directory: int) -> bool:
    try:
        marker = os.open(MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return False
    try:
        is_file = stat.S_ISREG(os.fstat(marker).st_mode)
        return is_file and os.read(marker, len(MARKER_TEXT)) == MARKER_TEXT
    finally:
        os.close(marker)


def _remove(above: int, name: str, owner: int | None) -> None:
    """Remove a directory and all in it, the marker last, so that what a crash leaves is still known as a probe's.

    ``owner`` is ``None`` where this client has not made the marker. A directory that others may have put something into
    is left.
    """
    directory = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    try:
        problem = against_owner(os.fstat(directory), owner_here(directory) if owner is None else owner)
        if problem:
            raise PermissionError(errno.EPERM, f"{name} {problem}")
        children = [child for child in os.listdir(directory) if child != MARKER]
        side_by_side(lambda child: _remove_tree(directory, child), children, tuning.CLIENT_OPERATIONS_IN_FLIGHT)
        with suppress(FileNotFoundError):
            os.unlink(MARKER, dir_fd=directory)
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=above)


def _remove_tree(directory: int, name: str) -> None:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            shutil.rmtree(name, dir_fd=directory)
        else:
            os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return
