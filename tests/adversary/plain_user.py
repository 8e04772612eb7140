"""Functions as a plain user, to whom modes apply as they do behind an access point; and write-protected directories.

Root without the capabilities that pass over modes stands for such a user, since the script's files are root's.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from msgspec.structs import replace

from fanout.model.path_rules import is_unfinished
from tests.adversary.script import TWO_MOUNTS, WITHIN_MOUNT, Spec
from tests.adversary.trees import Snapshot

# Between mounts both ends are of one user; from S3 the metadata of objects has owners of its own.
PLAIN_MODES = (0o555, 0o555, 0o550, 0o500, 0o755)
_OWNERS_AND_MODES = ("attributes", "backup_to")
# capabilities(7), capget(2): CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, version 3 of the structures.
_PASS_OVER_MODES = 1 << 1 | 1 << 2
_VERSION = 0x20080522


def draw_plain(
    draw: Random, direction: str, trees: tuple[tuple[Spec, ...], tuple[Spec, ...]], options: dict[str, Any]
) -> tuple[tuple[Spec, ...], tuple[Spec, ...], bool]:
    """Both trees, and whether functions are a plain user's: then their directories are mostly write-protected."""
    fits = direction in (WITHIN_MOUNT, TWO_MOUNTS) and options.get("mode", "copy") in ("copy", "sync")
    if os.geteuid() or draw.random() >= 0.2 or not fits or not options.keys().isdisjoint(_OWNERS_AND_MODES):
        return (*trees, False)

    def own(spec: Spec) -> Spec:
        mode = draw.choice(PLAIN_MODES) if spec.kind == "directory" else (spec.mode or 0o644) | 0o400
        return replace(spec, uid=0, gid=0, mode=mode & ~0o7000)

    source, destination = (tuple(map(own, specs)) for specs in trees)
    return source, destination, True


@contextmanager
def modes_apply(applies: bool) -> Iterator[None]:
    """Have modes apply to this thread, and to those that it begins meanwhile, as to a plain user."""
    if not applies:
        yield
        return
    effective = _effective()
    _set_effective(effective & ~_PASS_OVER_MODES)
    try:
        yield
    finally:
        _set_effective(effective)


@contextmanager
def all_rights() -> Iterator[None]:
    """Somebody else is at work meanwhile, who has what this process is permitted."""
    effective = _effective()
    _set_effective(int(_capabilities()[0].permitted))
    try:
        yield
    finally:
        _set_effective(effective)


def opened_at_the_end(before: Snapshot, after: Snapshot, passed_over: Collection[str]) -> list[str]:
    """Directories that a run that ended left with another mode, but for those of the source or others."""
    return [
        path
        for path, one in after.items()
        if one.kind == "directory" and path in before and path not in passed_over
        if (before[path].mark, before[path].kind) == (one.mark, "directory") and before[path].mode != one.mode
        if not is_unfinished(before[path].mode or 0)  # a run that broke off left it so
    ]


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Data(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


_LIBC = ctypes.CDLL(None, use_errno=True)


def _capabilities() -> Any:
    data = (_Data * 2)()
    if _LIBC.capget(ctypes.byref(_Header(_VERSION, 0)), data):
        raise OSError(ctypes.get_errno(), "capget")
    return data


def _effective() -> int:
    return int(_capabilities()[0].effective)


def _set_effective(effective: int) -> None:
    data = _capabilities()
    data[0].effective = effective
    if _LIBC.capset(ctypes.byref(_Header(_VERSION, 0)), data):
        raise OSError(ctypes.get_errno(), "capset")
