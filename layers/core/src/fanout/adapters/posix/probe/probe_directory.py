"""The directory that a probe works in, below a mount and never through a symlink.

OpenProbe makes it, and its ledger notes its inode, its owner and a mark in it; only that one is entered, and only that
one is removed (see ``fencing.own``). A probe makes a directory in it for each of its tasks, which moves its mtime. If
that is older than ``ABANDONED_SECONDS`` by the file system's clock, a stopped probe left it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fanout.adapters.posix.attributes import open_staged
from fanout.adapters.posix.errors import DENIED, GONE, LEADS_AWAY, destination_error
from fanout.adapters.posix.fencing.noted_removal import remove_noted
from fanout.adapters.posix.fencing.own import against, against_marked, against_owner, mark, owner_here
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.adapters.posix.paths.held_directory import HeldDirectory
from fanout.model.errors import ItemError
from fanout.model.file_system import Staged
from fanout.model.outcome import Reason
from fanout.model.path_rules import PROBE_PREFIX
from fanout.ports.probe import MadeByProbe, OtherProbes

# Chosen: twice the longest that a task of a probe takes, the time limit of its function.
ABANDONED_SECONDS = 300
_THERE = (
    "is there already, and the ledger does not say that this probe made it: look who put it there, remove it,"
    " and start the probe under another name"
)


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
        self._made: Staged | None = None
        self._directories.on_entering.append(self._entering)

    @property
    def client(self) -> str:
        return self._client

    def free_bytes(self) -> int:
        with _errors("statvfs"), self._directories.hold(self._parent) as above:
            found = os.statvfs(above)
            return found.f_bavail * found.f_frsize

    def begin(self) -> Staged:
        """See ``ports.probe.ProbeDirectory``; what was put in its place before it was opened holds nothing."""
        with _errors("mkdir"), self._directories.hold(self._parent) as above:
            try:
                os.mkdir(self._name, stat.S_IRWXU, dir_fd=above)
            except FileExistsError as error:
                raise ItemError(Reason.DESTINATION_CHANGED, f"/{self._root[:-1]} {_THERE}") from error
            directory = os.open(self._name, DIRECTORY_FLAGS, dir_fd=above)
            try:
                found = os.fstat(directory)
                made = Staged(str(found.st_ino), found.st_uid)
                if os.listdir(directory) or against_owner(found, owner_here(directory)):
                    raise ItemError(Reason.DESTINATION_CHANGED, f"/{self._root[:-1]} {_THERE}")
                return mark(directory, made)
            finally:
                os.close(directory)

    def enter(self, made: Staged) -> None:
        self._made = made
        self._directories.forget(self._root)

    def _entering(self, path: str, descriptor: int) -> None:
        """Enter the probe's directory, and those below it, only where they are its own."""
        if not path.startswith(self._root):
            return
        if self._made is None:
            problem = "is not noted as this probe's"
        elif path == self._root:
            problem = against_marked(descriptor, self._made)
        else:
            problem = against_owner(os.fstat(descriptor), self._made.owner)
        if problem:
            raise ItemError(Reason.DESTINATION_CHANGED, f"/{path[:-1]} {problem}")

    def remove_others(self, made_by: MadeByProbe) -> OtherProbes:
        """See ``ports.probe.ProbeDirectory``; those of other users are theirs, and nobody is asked about them."""
        with _errors("utime"), self._directories.hold(self._root) as own:
            os.utime(own)
            found = os.fstat(own)
        at_work, left = [], []
        with _errors("remove what a probe left"), self._directories.hold(self._parent) as above:
            names = [one for one in sorted(os.listdir(above)) if one.startswith(PROBE_PREFIX) and one != self._name]
            for name in names:
                there = _directory_of(above, name, found.st_uid)
                if there is None:
                    continue
                made = made_by(name.removeprefix(PROBE_PREFIX))
                if made and not against(there, made) and there.st_mtime > found.st_mtime - ABANDONED_SECONDS:
                    at_work.append(name)
                elif problem := self._removed(name, made):
                    left.append(problem)
        return OtherProbes(at_work, left)

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

    def remove(self) -> str:
        with _errors("remove"):
            return self._removed(self._name, self._made)

    def _removed(self, name: str, made: Staged | None) -> str:
        """Remove what a probe made; returns what is wrong with anything else of that name, as text that can be written.

        Raises as ``remove_noted``.
        """
        left = remove_noted(self._directories, self._parent, name, () if made is None else (made,)).left
        return left.encode("utf-8", "backslashreplace").decode()

    def close(self) -> None:
        self._directories.close()


@contextmanager
def _errors(operation: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise destination_error(operation, error) from error


def _directory_of(above: int, name: str, owner: int) -> os.stat_result | None:
    """A directory of a user that nobody else may write to; ``None`` for anything else, and for none.

    It is opened, so that an NFS client asks the server. Raises ``OSError``.
    """
    try:
        directory = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
    except OSError as error:
        if error.errno in GONE | LEADS_AWAY | DENIED:
            return None
        raise
    try:
        found = os.fstat(directory)
    finally:
        os.close(directory)
    return None if against_owner(found, owner) else found
