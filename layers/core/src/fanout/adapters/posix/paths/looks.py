"""Looks that something irreversible rests on: at what the server has under a name, whatever the NFS client knew.

A name is looked up below directories that are open, perhaps for minutes, and the client believes what it knew of them
for up to ``mounts.CACHED_SECONDS``: which directory a name leads to, and which names it has.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from math import inf

from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.paths.fresh import look_now, refresh_attributes, refresh_name
from fanout.adapters.posix.paths.held_directory import HeldDirectory
from fanout.model.errors import ItemError
from fanout.model.path_rules import parent_of

# Chosen: the server is asked for a directory at most four times a second, whatever is looked at in it.
ASKED_SECONDS = 0.25


def look_at(directories: Directories, path: str) -> os.stat_result:
    """The stat of what a path leads to at the server. Raises as ``Directories.hold``, and ``OSError``."""
    above, slash, name = path.rpartition("/")
    look_anew(directories, above + slash)
    with directories.hold(above + slash) as directory:
        return look_now(name, directory)


def ask_for(directories: Directories, path: str) -> None:
    """Have the next look at a path be the server's. An error shows then."""
    above, slash, name = path.rpartition("/")
    with suppress(OSError, ItemError):
        look_anew(directories, above + slash)
        with directories.hold(above + slash) as directory:
            refresh_name(name, directory)


def look_anew(directories: Directories, path: str, since: float = -inf) -> None:
    """Have names in a directory be looked up as they are at the server, asked no earlier than ``since``.

    A directory that is not under its name any more, or lies below one, is opened anew. Raises as ``Directories.hold``.
    """
    if not _is_old(directories.asked_at(path), since):
        return
    asked_at = inf
    for end in (0, *(at + 1 for at, letter in enumerate(path) if letter == "/")):
        held = directories.hold(path[:end])
        with held:
            if _is_old(held.asked_at, since):
                with held.asking:
                    if _is_old(held.asked_at, since):
                        _ask(directories, path[:end], held, asked_at)
            asked_at = held.asked_at


def _is_old(asked_at: float, since: float) -> bool:
    return asked_at < since or time.monotonic() - asked_at > ASKED_SECONDS


def _ask(directories: Directories, path: str, held: HeldDirectory, asked_above: float) -> None:
    """Ask for a directory of which the one above was asked for at ``asked_above``: it is not known better than that."""
    if path and not _is_in_place(directories, path, held.descriptor):
        directories.renew(path)
        return
    asked_at = time.monotonic()
    refresh_attributes(held.descriptor)
    held.asked_at = min(asked_at, asked_above)


def _is_in_place(directories: Directories, path: str, descriptor: int) -> bool:
    above = parent_of(path)
    with directories.hold(above) as directory:
        try:
            found = os.stat(path[len(above) : -1], dir_fd=directory, follow_symlinks=directories.follows)
        except FileNotFoundError:
            return False
    return os.path.samestat(found, os.fstat(descriptor))
