"""The law of what goes: an equal one, attributes included, is at another place, or the request asked for just that.

What a sync deletes at the destination is judged in ``deletions``; here is what a move deletes at the source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tests.adversary.differences import UNKNOWN_OWNER
from tests.adversary.trees import Snapshot, Version

_SET_ID = 0o6000


def lost_of(here: Version, there: Version | None, options: dict[str, Any]) -> str:
    """What no other place holds of an entry, if ``there`` is its copy; empty if nothing is lost.

    What the source does not tell cannot be lost, and with ``verify: content`` the request asks for the content alone.
    """
    if there is None:
        return "which has no copy"
    if there.kind != here.kind or (here.kind != "directory" and there.data != here.data):
        return "which has another content there"
    if options.get("verify") == "content":
        return ""
    for name, mine, its in _attributes(here, there):
        if mine is not None and mine != its:
            return f"whose {name} {_told(name, mine)} is {_told(name, its)} there"
    return ""


def _attributes(here: Version, there: Version) -> Iterator[tuple[str, int | None, int | None]]:
    """Names of attributes, and what both places tell of them."""
    owners = [None if one == UNKNOWN_OWNER else one for one in (here.uid, here.gid)]
    known = None not in owners
    if here.kind != "symlink":
        mine, its = here.mode, there.mode
        if not known and mine is not None and its is not None:  # set-id bits go where no owner is known
            mine, its = mine & ~_SET_ID, its & ~_SET_ID
        yield "mode", mine, its
    yield "uid", owners[0], there.uid
    yield "gid", owners[1], there.gid
    if here.kind != "directory":  # each entry that goes moves a directory's
        yield "mtime", here.mtime_ns, there.mtime_ns


def _told(name: str, value: int | None) -> str:
    return "not told" if value is None else f"{value:04o}" if name == "mode" else str(value)


def parted(gone: set[str], source: Snapshot, there: Snapshot) -> Iterator[list[str]]:
    """Names of one file that went at the source and are names of several files now, where both ends are mounts."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(gone):
        if source[path].kind == "file" and path in there:
            groups[source[path].mark].append(path)
    for names in groups.values():
        if len({there[name].mark for name in names}) > 1:
            yield names


def missing_of_kept(before: Snapshot, after: Snapshot) -> list[str]:
    """What earlier runs kept in ``backup_to``, and is not there as it was."""
    return sorted(
        path
        for path, one in before.items()
        if one.kind != "directory" and (path not in after or after[path].content != one.content)
    )
