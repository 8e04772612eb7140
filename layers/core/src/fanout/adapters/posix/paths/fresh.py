"""Attributes and names from the server instead of the NFS client's cache; brings ctypes, for what is rare."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache

# statx(2), linux/fcntl.h, linux/stat.h
_AT_EMPTY_PATH = 0x1000
_AT_STATX_FORCE_SYNC = 0x2000
_STATX_BASIC_STATS = 0x7FF
_STATX_BYTES = 256


def refresh_attributes(descriptor: int) -> None:
    """Have what is open asked for anew, so that the next fstat tells what the server says; raises ``OSError``."""
    flags = ctypes.c_int(_AT_EMPTY_PATH | _AT_STATX_FORCE_SYNC)
    buffer = ctypes.create_string_buffer(_STATX_BYTES)
    path = ctypes.c_char_p(b"")
    answered(libc().statx(ctypes.c_int(descriptor), path, flags, ctypes.c_uint(_STATX_BASIC_STATS), buffer))


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
    return ctypes.CDLL(None, use_errno=True)


def answered(result: int) -> int:
    """The result of one of its calls; raises the ``OSError`` of one that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
