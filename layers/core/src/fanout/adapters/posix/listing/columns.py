"""Turns names of a directory into entries, with plain files in columns."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import cast

from fanout.adapters.posix.listing.stats import entry_of
from fanout.model.columns import FileColumns, Listed
from fanout.model.path_rules import UNLINKED_PREFIX, is_unlinked_file

# Without a step of Python for each name: a stat and its columns take little more than the system call.
_FACTS = attrgetter("st_mode", "st_nlink", "st_size", "st_mtime_ns", "st_ctime_ns")


def stats_of(descriptor: int, names: Sequence[str]) -> list[os.stat_result | None]:
    """The stat of each name, ``None`` where there is none any more; names of directories may end in ``/``."""
    ask = partial(os.stat, dir_fd=descriptor, follow_symlinks=False)
    plain = [name.removesuffix("/") for name in names] if "/" in "".join(names) else names
    try:
        return list(map(ask, plain))
    except FileNotFoundError:
        return [_stat_or_none(descriptor, name) for name in plain]


def _stat_or_none(descriptor: int, name: str) -> os.stat_result | None:
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
