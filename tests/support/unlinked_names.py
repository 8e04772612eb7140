"""A directory that unlinks as an NFS mount does: what this process holds open keeps a hidden name until it is closed.

A real one is in ``tests/nfs``.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
from typing import Any

import pytest

from fanout.adapters.posix import removal

_HIDDEN = ".nfs"


def keep_names_of_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test is over; a removal waits no minute for what nobody closes."""
    plain = {name: getattr(os, name) for name in ("unlink", "rmdir", "listdir", "scandir")}
    numbers = itertools.count(1)

    def is_open(found: os.stat_result) -> bool:
        return stat.S_ISREG(found.st_mode) and (found.st_dev, found.st_ino) in _open_files(plain["listdir"])

    def unlink(name: Any, *, dir_fd: int | None = None) -> None:
        found = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        if not is_open(found):
            plain["unlink"](name, dir_fd=dir_fd)
            return
        above, last = os.path.split(os.fsdecode(name))
        if last.startswith(_HIDDEN):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), name)
        hidden = os.path.join(above, f"{_HIDDEN}{found.st_ino:016x}{next(numbers):08x}")
        os.rename(name, hidden, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)

    def closed(directory: int) -> None:
        for name in plain["listdir"](directory):
            if os.fsdecode(name).startswith(_HIDDEN):
                found = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and not is_open(found):
                    plain["unlink"](name, dir_fd=directory)

    def rmdir(name: Any, *, dir_fd: int | None = None) -> None:
        directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=dir_fd)
        try:
            closed(directory)
        finally:
            os.close(directory)
        plain["rmdir"](name, dir_fd=dir_fd)

    def reading(call: str) -> Any:
        def read(directory: Any = ".") -> Any:
            if isinstance(directory, int):
                closed(directory)
            return plain[call](directory)

        return read

    for name, call in {
        "unlink": unlink,
        "rmdir": rmdir,
        "listdir": reading("listdir"),
        "scandir": reading("scandir"),
    }.items():
        monkeypatch.setattr(os, name, call)
    monkeypatch.setattr(removal, "REMOVAL_SECONDS", 1.0)


def _open_files(listdir: Any) -> set[tuple[int, int]]:
    """Device and inode of what this process has open."""
    found = set()
    for descriptor in map(int, listdir("/proc/self/fd")):
        try:
            one = os.fstat(descriptor)
        except OSError:  # that of the listing itself
            continue
        found.add((one.st_dev, one.st_ino))
    return found
