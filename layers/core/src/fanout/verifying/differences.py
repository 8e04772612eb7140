"""Compares the attributes of an entry at two ends, as far as both ends can hold them.

| ends                | mode, 12 bits | owner and group | mtime, ns | metadata and content headers |
|---------------------|---------------|-----------------|-----------|------------------------------|
| mount and mount     | yes           | yes             | yes       | a file has none              |
| mount and S3        | what the object's metadata says; what it does not say is not compared | a file has none |
| S3 and S3           | as metadata: all that CopyObject carries and what the request adds, tags left out   |

- A symlink has no mode of its own on Linux.
- An owner is compared where both its numbers are known at both ends, and where the destination keeps owners.
  Where it is not, a file may lack the source's set-id bits: a copy leaves them out. It may not have more of them.
- Access times move when a tree is read; between S3 and S3 they are metadata like any other.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct, field

from fanout.model.entry import Attributes, Kind
from fanout.model.outcome import Reason

_SET_IDS = stat.S_ISUID | stat.S_ISGID
_NANOSECONDS = 1_000_000_000
# Chosen: characters of a header's value that a message shows.
_SHOWN = 60
# The reasons of entries that hold the same bytes, the worst first.
ATTRIBUTE_REASONS = (
    Reason.MODE_DIFFERS,
    Reason.OWNER_DIFFERS,
    Reason.MTIME_DIFFERS,
    Reason.LINKS_DIFFER,
    Reason.METADATA_DIFFERS,
)


class Rules(Struct, frozen=True):
    """The rules of a comparison of attributes.

    ``keeps_owners``: the destination can; ``as_metadata``: both ends lie in S3. ``tells_mtime`` is false where the
    request gives copies another mtime than their source tells, ``directory_times`` in a move: whatever comes into a
    directory or is deleted from it moves its mtime.

    ``added``: headers of metadata that the request gives each object, over that of the source.
    """

    keeps_owners: bool = True
    as_metadata: bool = False
    added: Mapping[str, str] = field(default_factory=dict)
    tells_mtime: bool = True
    directory_times: bool = True


class Difference(Struct, frozen=True):
    """A difference, with both values."""

    reason: Reason
    text: str


def differences(kind: Kind, source: Attributes, destination: Attributes, rules: Rules) -> list[Difference]:
    """The differences, the worst first; the module's table is the contract."""
    if rules.as_metadata:
        return _metadata({**_as_metadata(source), **rules.added}, _as_metadata(destination))
    found: list[Difference] = []
    owned = rules.keeps_owners and _knows_owner(source) and _knows_owner(destination)
    if _has_mode(kind, source) and source.mode is not None and destination.mode is not None:
        here, there = stat.S_IMODE(source.mode), stat.S_IMODE(destination.mode)
        without_ids = (here & ~_SET_IDS) | (here & there & _SET_IDS)
        if there != here and (owned or there != without_ids):
            found.append(_difference(Reason.MODE_DIFFERS, "mode", f"{here:04o}", f"{there:04o}"))
    if owned and (source.uid, source.gid) != (destination.uid, destination.gid):
        here_owner, there_owner = (f"{one.uid}:{one.gid}" for one in (source, destination))
        found.append(_difference(Reason.OWNER_DIFFERS, "owner", here_owner, there_owner))
    has_times = rules.directory_times or kind is not Kind.DIRECTORY
    if has_times and None not in (source.mtime_ns, destination.mtime_ns) and source.mtime_ns != destination.mtime_ns:
        times = (_time(source.mtime_ns or 0), _time(destination.mtime_ns or 0))
        found.append(_difference(Reason.MTIME_DIFFERS, "mtime", *times))
    return found


def is_told_whole(kind: Kind, source: Attributes, destination: Attributes, rules: Rules) -> bool:
    """Whether both ends hold all that is compared: false for an object whose metadata lacks some of it."""
    if rules.as_metadata:
        return True
    for one in (source, destination):
        lacks_owner = rules.keeps_owners and not _knows_owner(one)
        lacks_mtime = rules.tells_mtime and one.mtime_ns is None
        if lacks_mtime or lacks_owner or (_has_mode(kind, source) and one.mode is None):
            return False
    return True


def _has_mode(kind: Kind, source: Attributes) -> bool:
    return kind is not Kind.SYMLINK and not source.is_symlink


def _knows_owner(attributes: Attributes) -> bool:
    return attributes.uid is not None and attributes.gid is not None


def _difference(reason: Reason, what: str, here: str, there: str) -> Difference:
    return Difference(reason, f"{what} {here} at the source, {there} at the destination")


def _time(nanoseconds: int) -> str:
    """A time of ISO 8601 in UTC, to the nanosecond."""
    seconds, rest = divmod(nanoseconds, _NANOSECONDS)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _as_metadata(attributes: Attributes) -> dict[str, str]:
    """All that an object carries beside its bytes, by name."""
    posix = {
        "file-permissions": None if attributes.mode is None else f"0{attributes.mode:06o}",
        "file-owner": attributes.uid,
        "file-group": attributes.gid,
        "file-mtime": attributes.mtime_ns,
        "file-atime": attributes.atime_ns,
    }
    return {**attributes.headers, **{name: str(value) for name, value in posix.items() if value is not None}}


def _metadata(source: Mapping[str, str], destination: Mapping[str, str]) -> list[Difference]:
    names = sorted(name for name in {*source, *destination} if source.get(name) != destination.get(name))
    return [
        _difference(Reason.METADATA_DIFFERS, name, *(_shown(end.get(name)) for end in (source, destination)))
        for name in names
    ]


def _shown(value: str | None) -> str:
    if value is None:
        return "none"
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
