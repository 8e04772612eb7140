"""Removing a directory with all that it holds, whatever its depth."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from itertools import islice

from fanout.adapters.posix.directories import DIRECTORY_FLAGS

# Entries of a directory that are held in memory; it is read again for those after them.
_AT_ONCE = 1_000


def remove_tree(above: int, name: str) -> None:
    """Remove what stands under a name of an open directory; what is gone already counts as removed.

    A symlink goes itself, and nothing that it leads to. Directories further down are moved up into this one before
    they are read, so neither the stack nor the number of descriptors grows with the depth.
    """
    with suppress(FileNotFoundError):
        try:
            top = os.open(name, DIRECTORY_FLAGS, dir_fd=above)
        except NotADirectoryError:
            os.unlink(name, dir_fd=above)
            return
        try:
            while entries := _some(top):
                for one in entries:
                    _remove(top, one, top)
        finally:
            os.close(top)
        os.rmdir(name, dir_fd=above)


def _some(directory: int) -> list[os.DirEntry[str]]:
    with os.scandir(directory) as found:
        return list(islice(found, _AT_ONCE))


def _remove(directory: int, entry: os.DirEntry[str], top: int) -> None:
    """Remove an entry of a directory; a directory that lies deeper than ``top`` is moved there."""
    with suppress(FileNotFoundError):
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=directory)
            return
        if directory != top:
            os.rename(entry.name, f".{secrets.token_hex(8)}", src_dir_fd=directory, dst_dir_fd=top)
            return
        below = os.open(entry.name, DIRECTORY_FLAGS, dir_fd=top)
        try:
            while entries := _some(below):
                for one in entries:
                    _remove(below, one, top)
        finally:
            os.close(below)
        os.rmdir(entry.name, dir_fd=top)
