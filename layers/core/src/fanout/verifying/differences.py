"""Compares the attributes of an entry at two ends, as far as both ends can hold them.

| ends                | mode, 12 bits | owner and group | mtime, ns | metadata and content headers   |
|---------------------|---------------|-----------------|-----------|--------------------------------|
| mount and mount     | yes           | yes             | yes       | a file has none                |
| mount and S3        | what the source has: ``listing.deciding.kept_attributes`` | see ``not_holdable`` |
| S3 and S3           | as metadata: all that a copy carries and what the request adds; in a move tags too     |

``facts.holdings`` is the table behind this one.

- An attribute that the source has, and the destination lacks or holds unreadably, differs.
- A symlink has no mode of its own on Linux.
- An owner is compared where the destination keeps owners. Where it does not, or the source lacks one of the numbers,
  a file may lack the source's set-id bits: a copy leaves them out. It may not have more of them.
- Access times move when a tree is read; between S3 and S3 they are metadata like any other.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct, field

from fanout.facts.holdings import Direction
from fanout.listing.deciding.kept_attributes import OWNER, AttributeFate, kept, names_of, tells_metadata
from fanout.model.entry import LEFT_OUT, OWNERS, ROOT_SET_IDS, SET_IDS, STACK_SET_IDS, Attributes, Kind, Says
from fanout.model.outcome import Reason

_SET_IDS = stat.S_ISUID | stat.S_ISGID
_NANOSECONDS = 1_000_000_000
_SHOWN_AS = {
    "mtime_ns": "mtime",
    SET_IDS: "set-id bits without attributes.set_ids: mode",
    STACK_SET_IDS: "set-id bits that the stack's SetIds does not allow: mode",
    ROOT_SET_IDS: "set-id bits of root, whom the stack's AllowedOwners does not name: mode",
    OWNERS: "an owner whom the stack's AllowedOwners does not name:",
}
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

    ``keeps_owners``: the destination can. ``tells_mtime`` is false where the
    request gives copies another mtime than their source tells, ``directory_times`` in a move: whatever comes into a
    directory or is deleted from it moves its mtime. ``deletes``: what is equal is deleted at the source.

    ``added``: headers of metadata that the request gives each object, over that of the source.

    ``keeps_links``: names of one file stay names of one file. ``allows``: what the destination cannot hold may go, and
    is counted. ``content``: nothing is compared in addition to the bytes, and all may go.
    """

    keeps_owners: bool = True
    direction: Direction = Direction.MOUNTS
    added: Mapping[str, str] = field(default_factory=dict)
    tells_mtime: bool = True
    directory_times: bool = True
    deletes: bool = False
    keeps_links: bool = True
    allows: bool = False
    content: bool = False

    @property
    def as_metadata(self) -> bool:
        """Whether both ends are in S3, where each attribute is metadata."""
        return self.direction is Direction.INSIDE_S3


class ValueDifference(Struct, frozen=True):
    """A difference, with both values."""

    reason: Reason
    text: str


def differences(kind: Kind, source: Attributes, destination: Attributes, rules: Rules) -> list[ValueDifference]:
    """The differences, the worst first; the module's table is the contract."""
    if rules.content:
        return []
    if rules.as_metadata:
        return _metadata({**tells_metadata(source), **rules.added}, tells_metadata(destination))
    found: list[ValueDifference] = []
    names = _names(kind, source, rules)
    known = {name: kept(name, source, destination) for name in names}
    mode = known.get("mode")
    if mode is AttributeFate.LOST or (mode is AttributeFate.COMPARED and _modes_differ(source, destination, rules)):
        found.append(_difference(Reason.MODE_DIFFERS, "mode", *(_shown_mode(end) for end in (source, destination))))
    if any(_differs(name, known, source, destination) for name in OWNER):
        found.append(_difference(Reason.OWNER_DIFFERS, "owner", *(_shown_owner(end) for end in (source, destination))))
    if _differs("mtime_ns", known, source, destination):
        found.append(_difference(Reason.MTIME_DIFFERS, "mtime", *(_shown_time(end) for end in (source, destination))))
    unread = unreadable(kind, source, rules) if rules.deletes else ""
    if unread:
        found.append(ValueDifference(Reason.ATTRIBUTE_UNREADABLE, f"{unread} at the source"))
    return found


def unreadable(kind: Kind, source: Attributes, rules: Rules) -> str:
    """The attributes that the source tells unreadably, or that were left out, each with its text; empty for none."""
    if rules.as_metadata or not source.unreadable:
        return ""
    names = [name for name in _names(kind, source, rules) if source.says(name) is Says.UNREADABLE]
    names += [name for name in LEFT_OUT if name in source.unreadable]
    return ", ".join(f"{_SHOWN_AS.get(name, name)} {_shown(source.unreadable[name])}" for name in names)


def lacks_attributes(kind: Kind, source: Attributes, rules: Rules) -> bool:
    """Whether the source does not tell some attribute, so that there is nothing to compare its copy with."""
    if rules.as_metadata or rules.content:
        return False
    return any(source.says(name) is Says.NOT_TOLD for name in _names(kind, source, rules))


def _names(kind: Kind, source: Attributes, rules: Rules) -> list[str]:
    has_mtime = rules.tells_mtime and (rules.directory_times or kind is not Kind.DIRECTORY)
    return names_of(kind, source, owner=rules.keeps_owners, mtime=has_mtime)


def _differs(name: str, known: Mapping[str, AttributeFate], source: Attributes, destination: Attributes) -> bool:
    found = known.get(name)
    return found is AttributeFate.LOST or (
        found is AttributeFate.COMPARED and getattr(source, name) != getattr(destination, name)
    )


def _modes_differ(source: Attributes, destination: Attributes, rules: Rules) -> bool:
    here, there = stat.S_IMODE(source.mode or 0), stat.S_IMODE(destination.mode or 0)
    without_ids = (here & ~_SET_IDS) | (here & there & _SET_IDS)
    owned = rules.keeps_owners and _knows_owner(source) and _knows_owner(destination)
    return there != here and (owned or there != without_ids)


def _knows_owner(attributes: Attributes) -> bool:
    return attributes.uid is not None and attributes.gid is not None


def _difference(reason: Reason, what: str, here: str, there: str) -> ValueDifference:
    return ValueDifference(reason, f"{what} {here} at the source, {there} at the destination")


def _shown_mode(attributes: Attributes) -> str:
    return _or_why(attributes, "mode", None if attributes.mode is None else f"{stat.S_IMODE(attributes.mode):04o}")


def _shown_owner(attributes: Attributes) -> str:
    uid, gid = (_or_why(attributes, name, getattr(attributes, name)) for name in OWNER)
    return uid if uid == gid == Says.NOT_TOLD.value else f"{uid}:{gid}"


def _shown_time(attributes: Attributes) -> str:
    time_ns = attributes.mtime_ns
    return _or_why(attributes, "mtime_ns", None if time_ns is None else _time(time_ns))


def _or_why(attributes: Attributes, name: str, value: object) -> str:
    """A value, or why there is none."""
    if value is not None:
        return str(value)
    says = attributes.says(name)
    return f"unreadable ({_shown(attributes.unreadable[name])})" if says is Says.UNREADABLE else says.value


def _time(nanoseconds: int) -> str:
    """A time of ISO 8601 in UTC, to the nanosecond; in seconds since 1970 where no calendar holds it."""
    seconds, rest = divmod(nanoseconds, _NANOSECONDS)
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
    except (ValueError, OverflowError, OSError):
        return f"{seconds}.{rest:09d} s"


def _metadata(source: Mapping[str, str], destination: Mapping[str, str]) -> list[ValueDifference]:
    names = sorted(name for name in {*source, *destination} if source.get(name) != destination.get(name))
    return [
        _difference(Reason.METADATA_DIFFERS, name, *(_shown(end.get(name)) for end in (source, destination)))
        for name in names
    ]


def _shown(value: str | None) -> str:
    if value is None:
        return "none"
    return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
