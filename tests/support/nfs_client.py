"""A Linux NFS client over a directory: what it knows of names and attributes hides what other clients do there.

Calls of ``os`` that name an entry below an open directory of the mount are the client's: it answers from what it knows
while that is young, by the rules of nfs(5): attributes of files ``ACREGMIN`` seconds, twice as long each time that they
are found unchanged, up to ``ACREGMAX``; of directories ``ACDIRMIN`` to ``ACDIRMAX``. A name leads where it led for as
long as its directory is believed unchanged; opening a directory asks for its attributes, opening a file for the file
(close-to-open); names that are read bring their attributes (READDIRPLUS). Paths from the root are another client's, and
so is all that is done ``elsewhere``. Time passes only by ``later``.

Not modelled: pages of files, and ``fstat``, which always asks.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fanout.adapters.posix.paths import fresh, looks

ACREGMIN, ACREGMAX, ACDIRMIN, ACDIRMAX = 3.0, 60.0, 30.0, 60.0
_Key = tuple[int, int]
_CALLS = ("stat", "open", "scandir", "listdir", "readlink", "link", "mkdir", "unlink", "rmdir", "rename", "symlink")
_FSTAT = os.fstat
_REAL = {name: getattr(os, name) for name in (*_CALLS, "posix_fadvise")}


class _Inode:
    """What the client knows of an inode; ``handle`` is open as long as the client knows it, so its number stays."""

    def __init__(self, handle: int, found: os.stat_result, now: float) -> None:
        self.handle, self.found = handle, found
        self.asked_at, self.lasts = now, 0.0
        self.changes = 0
        self.change: object = None
        self.names: list[_Name] | None = None
        self.asked(found, now)

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.found.st_mode)

    def asked(self, found: os.stat_result, now: float) -> None:
        """The server has answered."""
        least, most = (ACDIRMIN, ACDIRMAX) if stat.S_ISDIR(found.st_mode) else (ACREGMIN, ACREGMAX)
        change = _change(self.handle, found)
        if self.change == change:
            self.lasts = min(most, 2 * self.lasts) if now - self.asked_at >= self.lasts else self.lasts
        else:
            self.lasts = least
            self.names = None
            self.changes += 1
        self.found, self.asked_at, self.change = found, now, change

    def changed_here(self) -> None:
        """The client itself changed it, and the answer says that nobody else had."""
        self.found = _FSTAT(self.handle)
        self.change, self.names = _change(self.handle, self.found), None


class _Name:
    """An entry of a directory as ``os.scandir`` gives it."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name = entry.name
        self._is_dir, self._is_link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
        self._is_file, self._inode = entry.is_file(follow_symlinks=False), entry.inode()
        self._found = entry.stat(follow_symlinks=False)

    def inode(self) -> int:
        return self._inode

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return self._found

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._is_file

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._is_dir

    def is_symlink(self) -> bool:
        return self._is_link


class _Names(list[_Name]):
    def __enter__(self) -> Iterator[_Name]:
        return iter(self)

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""

    def __next__(self) -> _Name:
        return self.pop(0)

    def close(self) -> None:
        """See ``os.scandir``."""


class NfsClient:
    """See the module; ``asked`` counts what the server was asked, by the names of NFSv4's operations."""

    def __init__(self, mount: Path) -> None:
        self._mount = str(mount)
        self._now = 0.0
        self._inodes: dict[_Key, _Inode] = {}
        self._leads: dict[tuple[_Key, str], tuple[int, _Key | None]] = {}
        self._lock = threading.RLock()
        self._here = threading.local()
        self.is_at_work: Callable[[], bool] = lambda: True
        self.asked: Counter[str] = Counter()

    @contextmanager
    def mounted(self) -> Iterator[NfsClient]:
        """Have the calls be the client's. A directory that is open is asked for each time that a look asks for it."""
        with ExitStack() as stack:
            for name, real in _REAL.items():
                stack.enter_context(patch.object(os, name, self._of_client(getattr(self, f"_{name}"), real)))
            stack.enter_context(patch.object(fresh, "_asked", self._statx))
            stack.enter_context(patch.object(looks, "ASKED_SECONDS", -1.0))
            stack.callback(self.forget)
            yield self

    def forget(self) -> None:
        """Know nothing, as a client that has just mounted."""
        with self._lock:
            for inode in self._inodes.values():
                os.close(inode.handle)
            self._inodes.clear()
            self._leads.clear()

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """What this thread does meanwhile is another client's."""
        before = getattr(self._here, "is_elsewhere", False)
        self._here.is_elsewhere = True
        try:
            yield
        finally:
            self._here.is_elsewhere = before

    def as_another(self, does: Callable[[], None]) -> Callable[[], None]:
        """The same, done by another client."""

        def call() -> None:
            with self.elsewhere():
                does()

        return call

    def _of_client(self, own: Callable[..., Any], real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            given = [*args[:1], *map(options.get, ("dir_fd", "src_dir_fd", "dst_dir_fd"))]
            directories = [one for one in given if isinstance(one, int)]
            if self._is_elsewhere() or not directories or not all(map(self._is_here, directories)):
                return real(*args, **options)
            with self._lock:
                return own(*args, **options)

        return call

    def _is_elsewhere(self) -> bool:
        return getattr(self._here, "is_elsewhere", False) or not self.is_at_work()

    def _is_here(self, descriptor: int) -> bool:
        try:
            at: str = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            return False
        return at.startswith(self._mount)

    # What the client knows.

    def _known(self, descriptor: int) -> _Inode:
        """The inode of what is open; asked for where the client does not know it."""
        found = _FSTAT(descriptor)
        key = (found.st_dev, found.st_ino)
        if key not in self._inodes:
            self._inodes[key] = _Inode(os.dup(descriptor), found, self._now)
        return self._inodes[key]

    def _getattr(self, inode: _Inode) -> None:
        self.asked["GETATTR"] += 1
        inode.asked(_FSTAT(inode.handle), self._now)

    def _directory(self, descriptor: int) -> tuple[_Key, _Inode]:
        inode = self._known(descriptor)
        if self._now - inode.asked_at >= inode.lasts:
            self._getattr(inode)
        return (inode.found.st_dev, inode.found.st_ino), inode

    def _lookup(self, name: str, descriptor: int, *, asks: bool = False) -> _Inode:
        """What a name leads to, for all that the client knows. Raises ``FileNotFoundError``."""
        key, directory = self._directory(descriptor)
        changes, led = self._leads.get((key, name), (-1, None))
        if asks or changes != directory.changes:
            self.asked["LOOKUP"] += 1
            try:
                handle = _REAL["open"](name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            except FileNotFoundError:
                self._leads[key, name] = (directory.changes, None)
                raise
            found = _FSTAT(handle)
            led = (found.st_dev, found.st_ino)
            if led in self._inodes:
                os.close(handle)
                self._inodes[led].asked(found, self._now)
            else:
                self._inodes[led] = _Inode(handle, found, self._now)
            self._leads[key, name] = (directory.changes, led)
        if led is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
        return self._inodes[led]

    @contextmanager
    def _changing(self, *places: tuple[int, str]) -> Iterator[None]:
        """The client changes names in directories; by the answer it knows whether others did too since it asked."""
        known = [(name, *self._directory(descriptor)) for descriptor, name in places]
        alone = [one.change == _change(one.handle, _FSTAT(one.handle)) for _, _, one in known]
        yield
        for (name, key, directory), is_alone in zip(known, alone, strict=True):
            if is_alone:
                directory.changed_here()
                self._leads.pop((key, name), None)
            else:
                self._getattr(directory)

    @contextmanager
    def _changed(self, name: str, directory: int) -> Iterator[None]:
        """The client renames a file, or takes a name from it: it asks for the file's ctime anew (fs/nfs/dir.c)."""
        try:
            found = _REAL["stat"](name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            found = None
        yield
        inode = None if found is None else self._inodes.get((found.st_dev, found.st_ino))
        if inode is not None and not inode.is_directory:
            inode.asked(_FSTAT(inode.handle), self._now)

    # The calls.

    def _statx(self, directory: int, name: str, flags: int) -> None:
        """What ``paths.fresh`` asks of the kernel, with AT_STATX_FORCE_SYNC."""
        if self._is_elsewhere() or not self._is_here(directory):
            return
        with self._lock:
            if not name:
                self._getattr(self._known(directory))
                return
            inode = self._lookup(name, directory)
            self._getattr(inode)
            if not inode.found.st_nlink:  # ESTALE: the kernel looks the name up again
                self._getattr(self._lookup(name, directory, asks=True))

    def _stat(self, name: str, *, dir_fd: int, follow_symlinks: bool = True) -> os.stat_result:
        if name in ("", "."):
            return _FSTAT(dir_fd)
        inode = self._lookup(name, dir_fd)
        if self._now - inode.asked_at >= inode.lasts:
            self._getattr(inode)
        if follow_symlinks and stat.S_ISLNK(inode.found.st_mode):
            found: os.stat_result = _REAL["stat"](name, dir_fd=dir_fd)
            return found
        return inode.found

    def _open(self, name: str, flags: int, mode: int = 0o777, *, dir_fd: int) -> int:
        if flags & os.O_CREAT:
            with self._changing((dir_fd, name)):
                made: int = _REAL["open"](name, flags, mode, dir_fd=dir_fd)
            return made
        if name == ".":
            here: int = _REAL["open"](name, flags, dir_fd=dir_fd)
            return here
        if not flags & (os.O_DIRECTORY | os.O_PATH):
            self.asked["OPEN"] += 1
            self._lookup(name, dir_fd, asks=True)
            file: int = _REAL["open"](name, flags, mode, dir_fd=dir_fd)
            return file
        inode = self._lookup(name, dir_fd)
        if not inode.is_directory:
            other: int = _REAL["open"](name, flags, dir_fd=dir_fd)
            return other
        if not flags & os.O_PATH:
            self._getattr(inode)
            if not inode.found.st_nlink:
                inode = self._lookup(name, dir_fd, asks=True)
        opened: int = _REAL["open"](".", flags & ~os.O_NOFOLLOW, dir_fd=inode.handle)
        return opened

    def _scandir(self, descriptor: int) -> _Names:
        key, directory = self._directory(descriptor)
        if directory.names is None:
            self.asked["READDIR"] += 1
            with _REAL["scandir"](descriptor) as found:
                directory.names = [_Name(one) for one in found]
            for name in directory.names:  # READDIRPLUS
                with self._quiet():
                    try:
                        self._lookup(name.name, descriptor, asks=True)
                    except FileNotFoundError:
                        self._leads.pop((key, name.name), None)
        return _Names(directory.names)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        counted = Counter(self.asked)
        yield
        self.asked = counted

    def _listdir(self, descriptor: int) -> list[str]:
        return [one.name for one in self._scandir(descriptor)]

    def _posix_fadvise(self, descriptor: int, offset: int, length: int, advice: int) -> None:
        found = _FSTAT(descriptor)
        if stat.S_ISDIR(found.st_mode) and advice == os.POSIX_FADV_DONTNEED:
            self._known(descriptor).names = None
        else:
            _REAL["posix_fadvise"](descriptor, offset, length, advice)

    def _readlink(self, name: str, *, dir_fd: int) -> str:
        if not name:
            target: str = _REAL["readlink"](name, dir_fd=dir_fd)
            return target
        inode = self._lookup(name, dir_fd)
        if not stat.S_ISLNK(inode.found.st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), name)
        known: str = _REAL["readlink"]("", dir_fd=inode.handle)
        return known

    def _link(self, name: str, new: str, *, src_dir_fd: int, dst_dir_fd: int, follow_symlinks: bool = True) -> None:
        """LINK takes the file that the client knows by the name; a name that the client knows is not asked for."""
        inode = self._lookup(name, src_dir_fd)
        self._refuse(new, dst_dir_fd)
        handle = f"/proc/self/fd/{inode.handle}"
        self.asked["LINK"] += 1
        with self._changing((dst_dir_fd, new)):
            if stat.S_ISLNK(inode.found.st_mode):
                _REAL["link"](name, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=False)
            else:
                _REAL["link"](handle, new, dst_dir_fd=dst_dir_fd, follow_symlinks=True)
        self._getattr(inode)

    def _mkdir(self, name: str, mode: int = 0o777, *, dir_fd: int) -> None:
        self._refuse(name, dir_fd)
        self.asked["CREATE"] += 1
        with self._changing((dir_fd, name)):
            _REAL["mkdir"](name, mode, dir_fd=dir_fd)

    def _refuse(self, name: str, directory: int) -> None:
        """EEXIST for a name that the client knows."""
        key, known = self._directory(directory)
        changes, led = self._leads.get((key, name), (-1, None))
        if led is not None and changes == known.changes:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)

    def _unlink(self, name: str, *, dir_fd: int) -> None:
        self.asked["REMOVE"] += 1
        with self._changing((dir_fd, name)), self._changed(name, dir_fd):
            _REAL["unlink"](name, dir_fd=dir_fd)

    def _rmdir(self, name: str, *, dir_fd: int) -> None:
        self.asked["REMOVE"] += 1
        with self._changing((dir_fd, name)):
            _REAL["rmdir"](name, dir_fd=dir_fd)

    def _rename(self, name: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self.asked["RENAME"] += 1
        with self._changing((src_dir_fd, name), (dst_dir_fd, new)), self._changed(name, src_dir_fd):
            _REAL["rename"](name, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    def _symlink(self, target: str | bytes, name: str, *, dir_fd: int) -> None:
        self._refuse(name, dir_fd)
        with self._changing((dir_fd, name)):
            _REAL["symlink"](target, name, dir_fd=dir_fd)


def _change(handle: int, found: os.stat_result) -> object:
    """What the server's change attribute tells: a kernel's ticks are too long to tell two changes of a directory."""
    times = (found.st_ctime_ns, found.st_mtime_ns, found.st_size)
    if not stat.S_ISDIR(found.st_mode):
        return times
    opened = _REAL["open"](".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
    try:
        with _REAL["scandir"](opened) as names:
            return times, frozenset((one.name, one.inode()) for one in names)
    finally:
        os.close(opened)
