"""Where a recorder stands: between the laboratory and the work bucket, the buckets, and the file system."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from fanout.adapters.posix.fencing.fencing_token import COPIED
from tests.adversary.buckets import BucketPlace, object_version
from tests.adversary.lab import Lab
from tests.adversary.script import STAGING
from tests.adversary.trees import MountPlace
from tests.protocol.recorder import ENDS, Recorder


def place_recorder(recorder: Recorder, lab: Lab) -> None:
    """Let what happens to the work bucket, and to the buckets at both ends, pass the recorder."""
    lab.store.plain = RecordedStore(lab.store.plain, recorder)
    for end, place in zip(ENDS, (lab.source, lab.destination), strict=True):
        if isinstance(place, BucketPlace):
            plain = lab.truth.buckets[place.bucket]
            objects = RecordedObjects(plain, recorder, end, place.prefix)
            same = [name for name, found in lab.truth.buckets.items() if found is plain]
            lab.truth.buckets.update(dict.fromkeys(same, objects))
    recorder.begin(lab)


class RecordedStore:
    """The work bucket, noted where it changes."""

    def __init__(self, store: Any, recorder: Recorder) -> None:
        self._store, self._recorder = store, recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def put(self, key: str, data: bytes) -> None:
        self._store.put(key, data)
        self._recorder.wrote(key, data)

    def put_new(self, key: str, data: bytes) -> bool:
        new = bool(self._store.put_new(key, data))
        if new:
            self._recorder.wrote(key, data)
        return new

    def write_version(self, key: str, data: bytes, version: str) -> None:
        self._store.write_version(key, data, version)
        self._recorder.entered(key, data)


class RecordedObjects(dict[str, Any]):
    """The objects of a bucket, noted where they change."""

    def __init__(self, objects: dict[str, Any], recorder: Recorder, end: str, prefix: str) -> None:
        super().__init__(objects)
        self._recorder, self._end, self._prefix = recorder, end, prefix

    def _path(self, key: str) -> str | None:
        return key.removeprefix(self._prefix) if key.startswith(self._prefix) and not key.endswith("/") else None

    def __setitem__(self, key: str, stored: Any) -> None:
        super().__setitem__(key, stored)
        path = self._path(key)
        if path is not None and object_version(key, stored).kind == "file":
            self._recorder.put(self._end, path, stored.data)
        elif path is not None:
            self._recorder.removed(self._end, path)  # a symlink took the place of a file

    def pop(self, key: str, *default: Any) -> Any:
        path = self._path(key)
        if path is not None and key in self:
            self._recorder.looked(path)
            self._recorder.removed(self._end, path)
        return super().pop(key, *default)


# The mark that late copies stop at.
_MARK = re.compile(rf"{STAGING}[^/]+/{COPIED}")


@contextmanager
def recorded_files(recorder: Recorder) -> Iterator[None]:
    """Notes what happens to files, below what the conductor troubles."""
    plain = {name: getattr(os, name) for name in ("rename", "link", "unlink", "rmdir", "open", "stat")}
    files = RecordedFiles(recorder, os.readlink, plain)
    with patch.dict(vars(os), {name: getattr(files, name) for name in plain}):
        yield


class RecordedFiles:
    """The operations of ``os`` that change what a reader sees, or a run's right to write."""

    def __init__(self, recorder: Recorder, readlink: Callable[..., str], plain: dict[str, Callable[..., Any]]) -> None:
        self._recorder, self._readlink, self._plain = recorder, readlink, plain

    def _where(self, name: Any, directory: int | None) -> tuple[str, str] | None:
        """The end and the path below its root, of a name as an operation gives it."""
        lab = self._recorder.lab
        if lab is None or lab.conductor.current is None or isinstance(name, int):
            return None
        path = os.fsdecode(name)
        if directory is not None:
            path = os.path.join(self._readlink(f"/proc/self/fd/{directory}"), path)
        for end, place in zip(ENDS, (lab.source, lab.destination), strict=True):
            if isinstance(place, MountPlace) and path.startswith(f"{place.root}/"):
                return end, path.removeprefix(f"{place.root}/")
        return None

    def _run(self, where: tuple[str, str] | None) -> str:
        """The run whose staging directory that is."""
        return where[1].removeprefix(STAGING) if where and re.fullmatch(rf"{STAGING}[^/]+", where[1]) else ""

    def rename(self, here: Any, there: Any, **more: Any) -> None:
        target = self._where(there, more.get("dst_dir_fd"))
        self._plain["rename"](here, there, **more)
        self._placed(target, there, more)

    def link(self, here: Any, there: Any, **more: Any) -> None:
        target = self._where(there, more.get("dst_dir_fd"))
        self._plain["link"](here, there, **more)
        self._placed(target, there, more)

    def _placed(self, target: tuple[str, str] | None, there: Any, more: dict[str, Any]) -> None:
        if target is None or STAGING in target[1]:
            return
        directory = more.get("dst_dir_fd")
        found = self._plain["stat"](there, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            self._recorder.removed(*target)  # a symlink took the place of a file
            return
        descriptor = self._plain["open"](there, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
        with open(descriptor, "rb") as file:
            self._recorder.put(target[0], target[1], file.read())

    def unlink(self, name: Any, *, dir_fd: int | None = None) -> None:
        where = self._where(name, dir_fd)
        self._plain["unlink"](name, dir_fd=dir_fd)
        if where is not None and STAGING not in where[1]:
            self._recorder.removed(*where)

    def rmdir(self, name: Any, *, dir_fd: int | None = None) -> None:
        where = self._where(name, dir_fd)
        self._plain["rmdir"](name, dir_fd=dir_fd)
        run = self._run(where)
        found = self._recorder.current() if run in self._recorder.runs else None
        if found is None or where is None:
            return
        _, attempt, by = found
        if run == by:
            self._recorder.note("unstage", run=self._recorder.runs[run], end=where[0])
        else:
            self._recorder.note("fence", attempt=attempt, end=where[0], run=self._recorder.runs[run])

    def open(self, name: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        where = self._where(name, dir_fd)
        opened: int = self._plain["open"](name, flags, mode, dir_fd=dir_fd)
        run = self._run(where)
        found = self._recorder.current()
        if found is not None and where is not None and flags & os.O_CREAT and _MARK.fullmatch(where[1]):
            self._recorder.note("end_copies", attempt=found[1])
        found = found if run else None
        if found is not None and where is not None and found[2] == run and found[0].state != "check":
            self._recorder.note("look", attempt=found[1], end=where[0])
        return opened

    def stat(self, name: Any, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        where = self._where(name, dir_fd)
        if where is not None and STAGING not in where[1]:
            self._recorder.looked(where[1])
        found: os.stat_result = self._plain["stat"](name, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        return found
