"""A directory that unlinks as an NFS mount does: what this process holds open keeps a hidden name until it is closed.

As with Linux's client it is the name that was opened which stays: another name of the same file goes at once. A real
mount is in ``tests/nfs``.
"""

from __future__ import annotations

import errno
import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix import removal

_HIDDEN = ".nfs"


def keep_names_of_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test is over; a removal waits no minute for what nobody closes."""
    plain = {name: getattr(os, name) for name in ("unlink", "rmdir", "listdir", "scandir", "close")}
    numbers, hidden = itertools.count(1), set[str]()

    def open_paths() -> set[str]:
        found = set()
        for descriptor in plain["listdir"]("/proc/self/fd"):
            try:
                found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
            except FileNotFoundError:  # that of the listing itself
                continue
        return found

    def unlink(name: Any, *, dir_fd: int | None = None) -> None:
        above = os.getcwd() if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
        path = f"{above}/{os.fsdecode(name)}"
        if path not in open_paths() or Path(path).is_dir():
            plain["unlink"](name, dir_fd=dir_fd)
        elif path in hidden:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), name)
        else:
            new = f"{path.rpartition('/')[0]}/{_HIDDEN}{next(numbers):024x}"
            os.rename(path, new)
            hidden.add(new)

    def go() -> None:
        for path in hidden - open_paths() if hidden else ():
            hidden.discard(path)
            if os.path.lexists(path):
                plain["unlink"](path)

    def first(call: str) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            go()
            return plain[call](*given, **named)

        return called

    def close(descriptor: int) -> None:
        plain["close"](descriptor)
        go()

    for name in ("rmdir", "listdir", "scandir"):
        monkeypatch.setattr(os, name, first(name))
    monkeypatch.setattr(os, "unlink", unlink)
    monkeypatch.setattr(os, "close", close)
    monkeypatch.setattr(removal, "REMOVAL_SECONDS", 1.0)
