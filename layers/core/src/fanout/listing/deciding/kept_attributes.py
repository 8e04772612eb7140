"""Decides what a copy keeps of what its source tells: the one rule of copies, verifications and moves.

A mount tells all attributes. An object tells those that its metadata names readably. Of each attribute:

| the source tells it | the destination tells it | the copy        |
|---------------------|--------------------------|-----------------|
| yes                 | yes                      | is compared     |
| yes                 | no, or unreadably        | has lost it     |
| no                  | any                      | has nothing to keep |
| unreadably          | any                      | cannot keep it  |

Only the source's silence is harmless: an object that names no mode gives its file a default, and that is a whole copy.
What follows, for each kind of entry (a symlink has no mode):

| an attribute    | copy by size-mtime                    | copy by checksum | verification     | move              |
|-----------------|---------------------------------------|------------------|------------------|-------------------|
| compared        | of the mtime see ``proof_rules``      | no matter        | differs or equal | stays, if differs |
| lost            | copied, once the index or a HEAD show | copied           | differs          | stays             |
| nothing to keep | no matter                             | no matter        | counted          | goes              |
| cannot be kept  | no matter                             | no matter        | counted          | stays             |

``compare: always`` copies whatever the ends have.

Inside S3 each header that is kept with an object is such an attribute (``tells_metadata``, ``facts.holdings``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum

from fanout.model.entry import Attributes, Kind, Says

OWNER = ("uid", "gid")
_ALL = ("mode", *OWNER, "mtime_ns")
# A mount tells all; the values do not matter.
MOUNT_TELLS = Attributes(0, 0, 0, 0, 0)


class AttributeFate(Enum):
    """The fate of an attribute in a copy."""

    COMPARED = "compared"
    LOST = "lost"
    NOTHING = "nothing to keep"
    UNREADABLE = "cannot be kept"


def kept(name: str, source: Attributes, destination: Attributes) -> AttributeFate:
    """The fate of one attribute, by the module's first table."""
    if (says := source.says(name)) is not Says.TOLD:
        return AttributeFate.NOTHING if says is Says.NOT_TOLD else AttributeFate.UNREADABLE
    return AttributeFate.COMPARED if destination.says(name) is Says.TOLD else AttributeFate.LOST


def names_of(kind: Kind, source: Attributes, *, owner: bool = True, mtime: bool = True) -> list[str]:
    """The attributes that an entry can have; ``owner`` and ``mtime`` say whether its destination keeps those."""
    left_out = set() if owner else set(OWNER)
    if kind is Kind.SYMLINK or source.is_symlink:
        left_out.add("mode")
    if not mtime:
        left_out.add("mtime_ns")
    return [name for name in _ALL if name not in left_out]


def loses(names: Iterable[str], source: Attributes, destination: Attributes) -> bool:
    """Whether a copy has lost one of these attributes."""
    return any(kept(name, source, destination) is AttributeFate.LOST for name in names)


def tells_metadata(attributes: Attributes) -> dict[str, str]:
    """All that an object carries in addition to its bytes, by name."""
    posix = {
        "file-permissions": None if attributes.mode is None else f"0{attributes.mode:06o}",
        "file-owner": attributes.uid,
        "file-group": attributes.gid,
        "file-mtime": attributes.mtime_ns,
        "file-atime": attributes.atime_ns,
    }
    unread = {f"unreadable {name}": text for name, text in attributes.unreadable.items()}
    return {**attributes.headers, **unread, **{name: str(value) for name, value in posix.items() if value is not None}}


def loses_metadata(source: Attributes, destination: Attributes, given: Collection[str] = ()) -> bool:
    """Whether a copy inside S3 lacks metadata that its source tells, or holds another value.

    ``given`` are the headers that the request gives each object: they are no concern of the source.
    """
    there = tells_metadata(destination)
    return any(there.get(name) != value for name, value in tells_metadata(source).items() if name not in given)
