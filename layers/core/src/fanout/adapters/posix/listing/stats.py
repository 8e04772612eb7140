"""Translates the file system's attributes of an entry; plain files of a directory come in columns."""

from __future__ import annotations

import os
import resource
import stat
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import TypeVar, cast

from fanout.facts import tuning
from fanout.model.columns import FileColumns, Listed
from fanout.model.entry import Attributes, Entry, Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import UNLINKED_PREFIX, is_unfinished, is_unlinked_file
from fanout.work.progress import FILES, moved


def attributes_of(found: os.stat_result) -> Attributes:
    return Attributes(found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_atime_ns)


def entry_of(path: str, found: os.stat_result, device: int = -1, *, made: bool = False) -> Entry:
    """The entry at a path, given without ``/`` at its end; with its inode if it lies on ``device``.

    A file that an NFS client unlinked and holds open counts as special. With ``made``, at a destination, a directory
    has its inode too, and one that no run has finished counts as older than any source.
    """
    mode = found.st_mode
    if stat.S_ISREG(mode) and not is_unlinked_file(path):
        return Entry(path, Kind.FILE, found.st_size, found.st_mtime_ns, found.st_ctime_ns, "", inode_of(found, device))
    if stat.S_ISDIR(mode):
        changed_ns = 0 if made and is_unfinished(mode) else found.st_ctime_ns
        return Entry(
            f"{path}/", Kind.DIRECTORY, 0, found.st_mtime_ns, changed_ns, "", str(found.st_ino) if made else ""
        )
    kind = Kind.SYMLINK if stat.S_ISLNK(mode) else Kind.SPECIAL
    size = 0 if kind is Kind.SPECIAL else found.st_size
    return Entry(path, kind, size, found.st_mtime_ns, found.st_ctime_ns, "", inode_of(found, device))


def inode_of(found: os.stat_result, device: int) -> str:
    """Which inode a name belongs to, among those of the file system ``device``; empty if it has one name.

    The number alone, because a client numbers the same NFS file system anew at each mount.
    """
    return str(found.st_ino) if found.st_nlink > 1 and found.st_dev == device else ""


def is_same_file(first_directory: int, first: str, directory: int, name: str) -> bool:
    """Whether two names, each in its directory, are names of one file; a name that is missing is none."""
    here = os.stat(first, dir_fd=first_directory, follow_symlinks=False)
    there = stat_or_none(directory, name)
    return there is not None and os.path.samestat(here, there)


def require_copy(found: os.stat_result, entry: Entry) -> None:
    """Raise ``ItemError`` for a file that has not the size and mtime that a copy of the entry has."""
    if found.st_size != entry.size or (entry.mtime_ns and found.st_mtime_ns != entry.mtime_ns):
        raise ItemError(Reason.DESTINATION_CHANGED, "its first name no longer holds the copy: others wrote there")


class WaitedSeconds:
    """The seconds in which this thread did not run since this was made, if it ever waited for an answer.

    A thread that only lost the processor, on a busy machine or in a function with a part of one, has no voluntary
    context switch.
    """

    def __init__(self) -> None:
        self._given_up = _given_up()
        self._began = time.perf_counter() - time.thread_time()

    @property
    def seconds(self) -> float:
        """See the class; 0 on a file system that answers from memory."""
        return time.perf_counter() - time.thread_time() - self._began if _given_up() > self._given_up else 0.0


def _given_up() -> int:
    """How often this thread gave up the processor to wait."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


# Names that one thread asks for in a row.
_IN_A_ROW = 8


_Answer = TypeVar("_Answer")


class Stats:
    """Asks for the entries of names: in threads where the file system answers slowly, as one over a network does."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def each(self, ask: Callable[[Sequence[str]], list[_Answer]], names: Sequence[str]) -> list[_Answer]:
        """The answers of ``ask`` for the names, in their order; threads ask for some names at a time."""
        waited = WaitedSeconds()
        found = ask(names[:_IN_A_ROW])
        if len(names) <= _IN_A_ROW:
            return found
        if waited.seconds < tuning.STAT_SLOW_SECONDS * len(found):
            return found + ask(names[_IN_A_ROW:])
        if self._threads is None:
            self._threads = ThreadPoolExecutor(tuning.STAT_THREADS, thread_name_prefix="stat")
        rows = [names[start : start + _IN_A_ROW] for start in range(_IN_A_ROW, len(names), _IN_A_ROW)]
        for row in self._threads.map(ask, rows):
            found += row
        return found

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown()


# Without a step of Python for each name: a stat and its columns take little more than the system call.
_FACTS = attrgetter("st_mode", "st_nlink", "st_size", "st_mtime_ns", "st_ctime_ns")


def stats_of(descriptor: int, names: Sequence[str]) -> list[os.stat_result | None]:
    """The stat of each name, ``None`` where there is none any more; names of directories may end in ``/``."""
    ask = partial(os.stat, dir_fd=descriptor, follow_symlinks=False)
    plain = [name.removesuffix("/") for name in names] if "/" in "".join(names) else names
    try:
        return list(map(ask, plain))
    except FileNotFoundError:
        return [stat_or_none(descriptor, name) for name in plain]
    finally:
        moved(FILES)


def stat_or_none(descriptor: int, name: str) -> os.stat_result | None:
    """The stat of a name in an open directory; ``None`` where there is none any more."""
    try:
        return os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return None


def listed_of(
    directory: str, names: Sequence[str], found: Sequence[os.stat_result | None], device: int, *, made: bool = False
) -> list[Listed]:
    """The entries of names in the order of their keys, of which directories' end in ``/``; see ``entry_of``.

    An entry whose kind changed since its name was read is at its new place.
    """
    if all(found):
        kept, there = list(names), cast(Sequence[os.stat_result], found)
    else:
        kept = [name for name, one in zip(names, found, strict=True) if one]
        there = [one for one in found if one]
    if not there:
        return []
    modes, links, sizes, mtimes_ns, changed_ns = zip(*map(_FACTS, there), strict=True)
    together = "".join(kept)
    hidden = UNLINKED_PREFIX in together
    if set(links) == {1} and all(map(stat.S_ISREG, set(modes))) and "/" not in together and not hidden:
        return [FileColumns(directory, kept, sizes, mtimes_ns, changed_ns)]
    if any(stat.S_ISDIR(mode) != name.endswith("/") for name, mode in zip(kept, modes, strict=True)):
        pairs = zip(kept, there, strict=True)
        entries = [entry_of(directory + name.removesuffix("/"), one, device, made=made) for name, one in pairs]
        return [*sorted(entries, key=lambda entry: entry.sort_key)]
    columns = FileColumns(directory, kept, sizes, mtimes_ns, changed_ns)
    result: list[Listed] = []
    plain = [link == 1 and stat.S_ISREG(mode) for link, mode in zip(links, modes, strict=True)]
    if hidden:
        plain = [one and not is_unlinked_file(name) for one, name in zip(plain, kept, strict=True)]
    for are_plain, group in groupby(range(len(kept)), plain.__getitem__):
        some = list(group)
        if are_plain:
            result.append(columns.part(some[0], some[-1] + 1))
        else:
            result += [entry_of(directory + kept[one].removesuffix("/"), there[one], device, made=made) for one in some]
    return result
