"""Directories are opened one component at a time; openat2 would refuse nothing more, and need as many calls.

docs/develop/decisions/0037-one-component.md
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.paths.beneath import has_openat2
from fanout.adapters.posix.paths.directories import DIRECTORY_FLAGS, Directories
from fanout.model.errors import ItemError

needs_openat2 = pytest.mark.skipif(not has_openat2(), reason="this kernel has no openat2, or forbids it")
# linux/openat2.h: RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH
STRICTEST = 0x02 | 0x04 | 0x08
PATHS = {
    "a directory": "in/d/",
    "one below another": "in/d/e/",
    "a symlink that leads out": "in/out/",
    "an absolute one": "in/absolute/",
    "one that stays inside": "in/inside/",
    "a symlink on the way": "in/out/d/",
    "one on the way that stays inside": "in/inside/e/",
    "a link of the kernel's own": "in/self/root/",
    "a file": "in/f/",
    "the directory above": "../",
    "one above on the way": "in/../../",
    "above and in again": "in/../in/d/",
    "nothing": "in/none/",
}


def openat2(root: int, path: str) -> int:
    how = struct.pack("=QQQ", DIRECTORY_FLAGS, 0, STRICTEST)
    libc = ctypes.CDLL(None, use_errno=True)
    found: int = libc.syscall(ctypes.c_long(437), root, os.fsencode(path), how, ctypes.c_size_t(len(how)))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base/in/d/e").mkdir(parents=True)
    (tmp_path / "outside/d").mkdir(parents=True)
    inside = tmp_path / "base/in"
    (inside / "f").write_text("f")
    for name, target in {"out": "../../outside", "absolute": "/", "inside": "d", "self": "/proc/self"}.items():
        (inside / name).symlink_to(target)
    return tmp_path / "base"


@needs_openat2
@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_one_component_after_the_other_lets_in_no_more_than_openat2(base: Path, path: str) -> None:
    """And where both let in, it is the same directory."""
    root = os.open(base, DIRECTORY_FLAGS)
    directories = Directories(str(base))
    ours = theirs = None
    try:
        with directories.hold(path) as held:
            ours = os.fstat(held).st_ino
    except (OSError, ItemError):
        ours = None
    try:
        descriptor = openat2(root, path)
        theirs = os.fstat(descriptor).st_ino
        os.close(descriptor)
    except OSError:
        theirs = None
    os.close(root)
    directories.close()
    assert ours in (None, theirs)
    assert ours is not None or ".." in path or theirs is None


def test_a_directory_costs_one_open_whatever_its_depth_and_its_files(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So one openat2 a directory would be as many."""
    deep = "/".join(f"d{number}" for number in range(20)) + "/"
    (base / deep).mkdir(parents=True)
    opened: list[Any] = []
    really = os.open

    def opening(*args: Any, **named: Any) -> int:
        opened.append(args)
        return really(*args, **named)

    monkeypatch.setattr(os, "open", opening)
    directories = Directories(str(base))
    directories.hold(deep).let_go()
    assert len(opened) == 21
    opened.clear()
    (base / deep / "next").mkdir()
    for _ in range(100):
        directories.hold(deep).let_go()
        directories.hold(f"{deep}next/").let_go()
    assert len(opened) == 1
    directories.close()
