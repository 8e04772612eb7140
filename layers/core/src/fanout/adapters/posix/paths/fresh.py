"""Attributes and names from the server instead of the NFS client's cache; ctypes is imported on the first call.

An NFS client answers from memory for up to ``mounts.CACHED_SECONDS``. What is irreversible rests on ``look_now``.

| what the client may know of old         | is asked for anew by                             | operations        |
|-----------------------------------------|--------------------------------------------------|-------------------|
| attributes of what is open              | ``refresh_attributes``                           | GETATTR           |
| which file a name leads to, or none     | ``refresh_attributes`` of its directory, before  | GETATTR, LOOKUP   |
| attributes of what a name leads to      | ``look_now``                                     | GETATTR           |
| names of a directory, their attributes  | ``names_now``                                    | READDIR           |
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

# statx(2), linux/fcntl.h, linux/stat.h
_AT_EMPTY_PATH = 0x1000
_AT_SYMLINK_NOFOLLOW = 0x100
_AT_STATX_FORCE_SYNC = 0x2000
_STATX_BASIC_STATS = 0x7FF
_STATX_BYTES = 256


def refresh_attributes(descriptor: int) -> None:
    """Have what is open asked for anew, so that the next fstat tells what the server says; raises ``OSError``."""
    _asked(descriptor, "", _AT_EMPTY_PATH)


def look_now(name: str, directory: int) -> os.stat_result:
    """The stat of a name in an open directory, asked of the server; raises ``OSError``.

    The name leads to what the client knows by it: have ``looks.look_anew`` ask for the directory before.
    """
    refresh_name(name, directory)
    return os.stat(name, dir_fd=directory, follow_symlinks=False)


def refresh_name(name: str, directory: int) -> None:
    """Have a name in an open directory asked for anew, as ``look_now``, for a stat that follows."""
    _asked(directory, name, _AT_SYMLINK_NOFOLLOW)


def names_now(directory: int) -> None:
    """Drop what the client keeps of an open directory's READDIR, so that names and attributes come from the server.

    Costs a client that kept nothing no operation, and no file system of this machine anything.
    """
    with suppress(OSError):  # of a file system that cannot: it keeps nothing that others could change
        os.posix_fadvise(directory, 0, 0, os.POSIX_FADV_DONTNEED)


def _asked(directory: int, name: str, flags: int) -> None:
    call, unread = _statx()
    answered(call(directory, os.fsencode(name), flags | _AT_STATX_FORCE_SYNC, _STATX_BASIC_STATS, unread))


@cache
def _statx() -> tuple[Callable[..., int], ctypes.Array[ctypes.c_char]]:
    """The call, and the place of its answers for all threads: nobody reads it, the next stat has the same."""
    import ctypes  # what only reads and copies does without

    call = libc().statx
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)
    return call, ctypes.create_string_buffer(_STATX_BYTES)


def is_there_again(directory: int, name: str) -> bool:
    """Have a name looked up anew: where a rename finds its directory gone, an NFS client takes its file for gone too.

    Asked to make it, the server says that it is there, and the client drops what it knew.
    """
    try:
        os.mkdir(name, dir_fd=directory)
    except FileExistsError:
        return True
    except OSError:  # the directory is gone, or nothing more can be made in it
        return False
    with suppress(OSError):
        os.rmdir(name, dir_fd=directory)
    return False


@cache
def libc() -> ctypes.CDLL:
    """The C library, for system calls that Python does not offer."""
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def answered(result: int) -> int:
    """The result of one of its calls; raises the ``OSError`` of one that failed."""
    if result < 0:
        import ctypes

        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
