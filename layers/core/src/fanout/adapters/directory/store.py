"""The ledger's place in a directory: an object's key is the path of its file below the root.

| what               | where                                                                                   |
|--------------------|-----------------------------------------------------------------------------------------|
| an object          | the file of its key; a key that is also the beginning of another one cannot be stored   |
| an unfinished write | ``.new/``: a file gets its key once all its bytes are on the disk                       |
| a conditional write | under an exclusive lock of a file in ``.locks/``, which the kernel drops with its holder |

A write has returned when its bytes, its name and the names of its directories are on the disk. A version is the
digest of the bytes. Safe to share between threads and processes of one machine.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count

from fanout.adapters.directory.errors import NO_OBJECT, ledger_errors
from fanout.model.errors import LedgerBroken, NotFound, PreconditionFailed
from fanout.ports.store import Versioned

NEW, LOCKS, OURS = ".new", ".locks", "."
# Chosen: no write of a ledger's object takes so long; a file that is older was left by a process that was killed.
_ABANDONED_SECONDS = 86_400.0
_numbers = count()


class DirectoryWorkStore:
    """A ``WorkStore`` and a ``VersionedStore`` below ``root``, which is made with the first write."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._made: set[str] = set()

    def __reduce__(self) -> tuple[type[DirectoryWorkStore], tuple[str]]:
        return DirectoryWorkStore, (self.root,)

    def put(self, key: str, data: bytes) -> None:
        """Write the object whole; a reader sees the old one or the new one."""
        with ledger_errors(f"{self.root}/{key}"):
            written, path = self._written(key, data)
            os.rename(written, path)
            _sync(_above(path))

    def put_new(self, key: str, data: bytes) -> bool:
        with ledger_errors(f"{self.root}/{key}"):
            written, path = self._written(key, data)
            try:
                os.link(written, path)
            except FileExistsError:
                return False
            finally:
                os.unlink(written)
            _sync(_above(path))
            return True

    def get(self, key: str) -> bytes:
        """The object's bytes. Raises ``NotFound``."""
        with ledger_errors(f"{self.root}/{key}"):
            try:
                with open(self._path(key), "rb", buffering=0) as file:
                    return file.read()
            except NO_OBJECT:
                raise NotFound(f"{self.root}/{key}") from None

    def list(self, prefix: str) -> Iterator[str]:
        """The keys that start with the prefix, in their order."""
        directory, _, begin = prefix.rpartition("/")
        if directory:
            self._path(directory)
        return self._below(f"{directory}/" if directory else "", begin)

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects; one that is not there counts as removed."""
        changed: set[str] = set()
        for key in keys:
            with ledger_errors(f"{self.root}/{key}"), suppress(*NO_OBJECT):
                path = self._path(key)
                os.unlink(path)
                changed.add(_above(path))
        for directory in changed:
            with ledger_errors(directory):
                _sync(directory)

    def read_version(self, key: str) -> Versioned:
        try:
            data = self.get(key)
        except NotFound:
            return Versioned()
        return Versioned(data, version_of(data))

    def write_version(self, key: str, data: bytes, version: str) -> None:
        with self._locked(key):
            if self.read_version(key).version != version:
                raise PreconditionFailed(f"{self.root}/{key} is not what was read")
            self.put(key, data)

    def sweep(self) -> None:
        """Remove what killed processes left half written, a day after."""
        place = f"{self.root}/{NEW}"
        with ledger_errors(place), suppress(FileNotFoundError), os.scandir(place) as found:
            for one in found:
                with suppress(FileNotFoundError):
                    if one.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                        os.unlink(one.path)

    def _path(self, key: str) -> str:
        """Raises ``LedgerBroken`` for a key that would lead out of the root, or to a file of the store's own."""
        if "\0" in key or any(part.startswith(OURS) or not part for part in key.split("/")):
            raise LedgerBroken(f"{key[:200]!r} is not a key of a ledger")
        return f"{self.root}/{key}"

    def _written(self, key: str, data: bytes) -> tuple[str, str]:
        """A synced file that holds the bytes, and the path of the key, whose directory is there."""
        path = self._path(key)
        self._make(_above(path))
        self._make(f"{self.root}/{NEW}")
        written = f"{self.root}/{NEW}/{os.getpid()}.{next(_numbers)}"
        try:
            file = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            finally:
                os.close(file)
        except BaseException:
            with suppress(OSError):
                os.unlink(written)
            raise
        return written, path

    def _make(self, directory: str) -> None:
        """Make a directory and those above it, for its owner alone; each is on the disk then."""
        if directory in self._made:
            return
        if not os.path.isdir(directory):
            above = _above(directory)
            self._make(above)
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
            _sync(above)
        self._made.add(directory)

    def _below(self, place: str, begin: str) -> Iterator[str]:
        for name in self._names(place):
            if name.startswith(begin) and not name.startswith(OURS):
                if name.endswith("/"):
                    yield from self._below(f"{place}{name}", "")
                else:
                    yield f"{place}{name}"
            elif name.endswith("/") and begin.startswith(name):
                yield from self._below(f"{place}{name}", begin.removeprefix(name))

    def _names(self, place: str) -> Sequence[str]:
        """The names in a directory as their keys are sorted: 'a.json' comes before 'a/b'."""
        with ledger_errors(f"{self.root}/{place}"):
            try:
                with os.scandir(f"{self.root}/{place}") as found:
                    return sorted(one.name + ("/" if one.is_dir(follow_symlinks=False) else "") for one in found)
            except NO_OBJECT:
                return []

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        self._path(key)
        with ledger_errors(f"{self.root}/{key}"):
            self._make(f"{self.root}/{LOCKS}")
            name = sha256(key.encode()).hexdigest()
            file = os.open(f"{self.root}/{LOCKS}/{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
            finally:
                os.close(file)


def version_of(data: bytes) -> str:
    """The version of an object with these bytes."""
    return sha256(data).hexdigest()


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _sync(directory: str) -> None:
    """Have the names in a directory on the disk."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
