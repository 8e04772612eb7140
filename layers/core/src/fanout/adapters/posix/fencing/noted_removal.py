"""Removing a staging directory with all that is in it: only one that the ledger of its run has noted.

Who may write to a root can give any directory there the name of a staging directory, and what is removed here is
removed with the rights of the function. So the directory is opened, and compared with the note, before it is emptied.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import NamedTuple

from fanout.adapters.posix.fencing.own import REUSED, NotOursError, against, against_marked
from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.removal import remove_directory
from fanout.model.errors import ItemError
from fanout.model.file_system import Staged
from fanout.model.path_rules import reason_against_name


class NotedRemoval(NamedTuple):
    """Whether a run's directory was removed, and what was left that has its name."""

    removed: bool
    left: str = ""


def remove_noted(
    directories: Directories,
    place: str,
    name: str,
    made: Collection[Staged],
    before: Callable[[str, int], None] = lambda _place, _directory: None,
    keep: Collection[str] = (),
) -> NotedRemoval:
    """Remove the directory ``name`` in ``place`` if it was noted, wherever in ``place`` it is now.

    ``before`` is called with ``place`` and the descriptor, before anything in it goes. ``keep`` are names of entries in
    it that stay, and the directory with them. Raises as ``remove_directory``.
    """
    one_name(name)

    def problem(found: os.stat_result) -> str:
        problems = [against(found, one) for one in made]
        return "" if "" in problems else (problems or ["is a directory that no ledger of this stack notes"])[0]

    proven: list[int] = []

    def look(directory: int) -> None:
        """Before each pass; the mark goes in the last one."""
        found = os.fstat(directory)
        said = problem(found)
        if not said and not proven and all(against_marked(directory, one) for one in made):
            said = REUSED
        if said:
            raise NotOursError(said)
        proven.append(directory)
        before(place, directory)

    def remove(one: str) -> bool:
        """Whether there was anything to remove."""
        proven.clear()
        directories.forget(f"{place}{one}/")
        with directories.hold(place) as above:
            try:
                if made:
                    remove_directory(above, one, keep, look)
                    return True
            except PermissionError:  # it cannot be entered; whose it is shows all the same
                if not problem(os.stat(one, dir_fd=above, follow_symlinks=False)):
                    raise
            raise NotOursError(problem(os.stat(one, dir_fd=above, follow_symlinks=False)))

    try:
        return NotedRemoval(removed=remove(name))
    except FileNotFoundError:
        return NotedRemoval(removed=False)
    except (NotOursError, NotADirectoryError) as error:
        return _left(directories, place, name, made, remove, error)


def _left(
    directories: Directories,
    place: str,
    name: str,
    made: Collection[Staged],
    remove: Callable[[str], bool],
    error: Exception,
) -> NotedRemoval:
    """Leave what has the name, and remove what was noted, under the name that somebody gave it."""
    try:
        moved = _moved(directories, place, made)
    except NotADirectoryError:
        return NotedRemoval(removed=False)
    for one in moved:
        with suppress(NotOursError, NotADirectoryError, FileNotFoundError):
            remove(one)
    problem = str(error) if isinstance(error, NotOursError) else "is no directory any more"
    return NotedRemoval(removed=bool(moved), left=f"/{place}{name} {problem}")


def _moved(directories: Directories, place: str, made: Collection[Staged]) -> list[str]:
    """The names of entries that have the inodes of what a run made."""
    inodes = {one.inode for one in made}
    if not inodes:
        return []
    with directories.hold(place) as above, os.scandir(above) as found:
        return [one.name for one in found if str(one.inode()) in inodes]


def one_name(name: str) -> None:
    """Raise ``ItemError`` for what is not the name of one entry of a directory."""
    reason = reason_against_name(name)
    if reason is not None:
        raise ItemError(reason, f"{name!r} is not the name of an entry")


def leads_out(place: str) -> bool:
    """Whether a path of the mount, empty or with ``/`` at its end, may lead out of it by its components."""
    parts = place.removesuffix("/").split("/")
    return bool(place) and any(reason_against_name(part) is not None for part in parts)
