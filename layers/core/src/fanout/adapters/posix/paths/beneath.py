"""Paths below a directory whose symlinks are followed as long as they stay below it.

Where the kernel has openat2 it decides (``RESOLVE_BENEATH``); elsewhere each component
is opened by itself with ``O_NOFOLLOW`` and each symlink resolved here. Both refuse what
leads above the root, absolute targets too, with ``EXDEV``, and open none of it.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections import deque
from functools import cache

# /usr/include/asm-generic/unistd.h and linux/openat2.h
_SYS_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_BENEATH = 0x08
# The kernel's own limit on symlinks in one path (path_resolution(7)).
_LINKS = 40
# limits.h, PATH_MAX: the kernel takes no longer path at once.
_PATH_BYTES = 4096
# The kernel gives EAGAIN when a directory of the path is renamed while it resolves "..".
_ATTEMPTS = 10
_SEARCH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_beneath(root: int, path: str, flags: int) -> int:
    """A descriptor of what ``path`` leads to below the directory ``root``; raises ``OSError``."""
    if not has_openat2() or len(os.fsencode(path)) >= _PATH_BYTES:
        return walk(root, path, flags)[0]
    for _ in range(_ATTEMPTS):
        try:
            return _openat2(root, path, flags)
        except BlockingIOError:
            continue
    return walk(root, path, flags)[0]


@cache
def has_openat2() -> bool:
    """Whether the kernel has openat2 (Linux 5.6) and lets this process use it."""
    slash = os.open("/", _SEARCH)
    try:
        os.close(_openat2(slash, ".", _SEARCH))
    except OSError:
        return False
    finally:
        os.close(slash)
    return True


def _openat2(root: int, path: str, flags: int) -> int:
    import ctypes  # only what follows symlinks needs it

    from fanout.adapters.posix.paths.fresh import answered, libc

    # struct open_how: flags, mode, resolve
    how = struct.pack("=QQQ", flags | os.O_CLOEXEC, 0, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS)
    name, size = ctypes.c_char_p(os.fsencode(path)), ctypes.c_size_t(len(how))
    return answered(libc().syscall(ctypes.c_long(_SYS_OPENAT2), ctypes.c_int(root), name, ctypes.c_char_p(how), size))


def walk(root: int, path: str, flags: int) -> tuple[int, int]:
    """The same component by component; returns also when the youngest symlink on the way changed (ctime, ns).

    It keeps only the identities of the directories above, and compares ``..`` with them. So a directory that was
    moved meanwhile cannot lead out to one that was not passed on the way down.
    """
    rest = deque(path.split("/"))
    above: list[tuple[int, int]] = []
    here = os.open(".", _SEARCH, dir_fd=root)
    links, changed_ns = 0, 0
    try:
        while rest:
            name = rest.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                if not above:
                    raise _error(errno.EXDEV)
                here = _gone_to(here, "..")
                if _identity(here) != above.pop():
                    raise _error(errno.EXDEV)
                continue
            found = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                links, changed_ns = links + 1, max(changed_ns, found.st_ctime_ns)
                if links > _LINKS:
                    raise _error(errno.ELOOP)
                target = os.readlink(name, dir_fd=here)
                if target.startswith("/"):
                    raise _error(errno.EXDEV)
                rest.extendleft(reversed(target.split("/")))
            elif rest or stat.S_ISDIR(found.st_mode):
                above.append(_identity(here))
                here = _gone_to(here, name)
            else:
                return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here), changed_ns
        return os.open(".", flags | os.O_CLOEXEC, dir_fd=here), changed_ns
    finally:
        os.close(here)


def _gone_to(here: int, name: str) -> int:
    """The descriptor of a directory in place of the one that it was reached from, which stays open if this fails."""
    there = os.open(name, _SEARCH, dir_fd=here)
    os.close(here)
    return there


def _identity(directory: int) -> tuple[int, int]:
    found = os.fstat(directory)
    return found.st_dev, found.st_ino


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
