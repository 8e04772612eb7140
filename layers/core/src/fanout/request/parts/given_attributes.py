"""Attributes that a request gives to copies: docs/understand/attributes.md is the contract.

| an attribute of the copy  | without ``override``                   | with ``override``    |
|---------------------------|----------------------------------------|----------------------|
| that the request gives    | the source's, else the request's       | the request's        |
| that it does not give     | the source's                           | the source's         |
| mode of a symlink         | none: a symlink has no mode of its own | none                 |
| set-id bits of a file     | the source's, where its owner and group are the source's too, else none       ||
"""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from fanout.model.entry import SECOND_NS, Attributes, Entry, Kind, whole_seconds
from fanout.request.fields.traits import ATTRIBUTES, Traits
from fanout.request.object_options import USER_PREFIX

_LAST_ID = 2**32 - 2  # chown(2) takes the number after it for "leave as it is"
_SET_ID = stat.S_ISUID | stat.S_ISGID


class Mtime(StrEnum):
    """The mtime of a copy: when the object was written, or when the copy was."""

    LAST_MODIFIED = "last-modified"
    NOW = "now"


class Tool(StrEnum):
    """A tool that writes attributes into the metadata of objects under names of its own."""

    RCLONE = "rclone"
    S3FS = "s3fs"
    S3CMD = "s3cmd"
    MC = "mc"


class GivenAttributes(Struct, frozen=True, forbid_unknown_fields=True, rename={"read_from": "from"}):
    """The attributes of copies whose source has none or, with ``override``, of all. Modes are octal text."""

    uid: (
        Annotated[
            int, Meta(ge=0, le=_LAST_ID, description="owner of copies whose object names none"), Traits(ATTRIBUTES)
        ]
        | None
    ) = None
    gid: (
        Annotated[
            int, Meta(ge=0, le=_LAST_ID, description="group of copies whose object names none"), Traits(ATTRIBUTES)
        ]
        | None
    ) = None
    file_mode: Annotated[
        str,
        Meta(
            pattern="^(0?[0-7]{3})?$",
            description="mode of files whose object names none; default: 0644",
            extra_json_schema={"allowed": 'octal text from "0000" to "0777"'},
        ),
        Traits(ATTRIBUTES),
    ] = ""
    directory_mode: Annotated[
        str,
        Meta(
            pattern="^([02]?[0-7]{3})?$",
            description="mode of directories whose object names none, or that keys imply; default: 0755",
            extra_json_schema={"allowed": 'octal text from "0000" to "0777", with the set-gid bit to "2777"'},
        ),
        Traits(ATTRIBUTES),
    ] = ""
    mtime: Annotated[
        Mtime | None,
        Meta(
            description="mtime of copies whose object names none: the Last-Modified, as by default;"
            " or now: the time of the copy"
        ),
        Traits(ATTRIBUTES),
    ] = None
    read_from: Annotated[
        Tool | None,
        Meta(description="read the attributes that this tool wrote, where the object names none as AWS's services do"),
        Traits(ATTRIBUTES, option="attributes-from"),
    ] = None
    set_ids: Annotated[
        bool,
        Meta(description="keep the set-uid and set-gid bits of files that objects name, for any owner"),
        Traits(ATTRIBUTES, option="keep-set-ids"),
    ] = False
    override: Annotated[
        bool,
        Meta(description="give these attributes to every copy, whatever its source names; also from a mount"),
        Traits(ATTRIBUTES, option="override-attributes"),
    ] = False

    @property
    def are_any(self) -> bool:
        return self != GivenAttributes(override=self.override)

    def of(self, entry: Entry, known: Attributes) -> Attributes:
        """The attributes of an entry of the source, which itself has the ``known`` ones."""
        if self.read_from is not None:
            known = with_attributes_of(self.read_from, known)
        uid = self._one(self.uid, known.uid)
        gid = self._one(self.gid, known.gid)
        mtime_ns, atime_ns, modified_ns = self._times(entry, known)
        mode = self._mode(entry, known, is_owned=(uid, gid) == (known.uid, known.gid))
        given = Attributes(mode, uid, gid, mtime_ns, atime_ns, known.headers, modified_ns, tags=known.tags)
        if known.unreadable:
            left = known.unreadable.items()
            given.unreadable = {name: text for name, text in left if getattr(given, name, None) is None}
        return given

    @property
    def of_implied_directory(self) -> Attributes | None:
        """The attributes of a directory that keys imply; ``None`` where the request gives it none."""
        bits = _bits(self.directory_mode)
        if self.uid is None and self.gid is None and bits is None:
            return None
        return Attributes(None if bits is None else stat.S_IFDIR | bits, self.uid, self.gid)

    def _one(self, given: int | None, known: int | None) -> int | None:
        return given if given is not None and (self.override or known is None) else known

    def _mode(self, entry: Entry, known: Attributes, *, is_owned: bool) -> int | None:
        if entry.kind is Kind.SYMLINK or known.is_symlink:
            return known.mode
        is_directory = entry.kind is Kind.DIRECTORY
        bits = _bits(self.directory_mode if is_directory else self.file_mode)
        if bits is not None and (self.override or known.mode is None):
            return (stat.S_IFDIR if is_directory else stat.S_IFREG) | bits
        if known.mode is None or is_directory or is_owned:
            return known.mode
        return known.mode & ~_SET_ID  # they would act in the name of an owner who is not the source's

    def _times(self, entry: Entry, known: Attributes) -> tuple[int | None, int | None, int | None]:
        """mtime, atime and the time that replaces the former."""
        if self.mtime is None or (known.mtime_ns is not None and not self.override):
            return known.mtime_ns, known.atime_ns, known.modified_ns
        if self.mtime is Mtime.NOW:
            return None, None, None
        modified_ns = whole_seconds(entry.changed_ns)
        return modified_ns, None if self.override else known.atime_ns, modified_ns


def _bits(mode: str) -> int | None:
    return int(mode, 8) if mode else None


_DECIMAL = re.compile(r"[0-9]{1,10}")
_TIME = re.compile(r"(-?[0-9]{1,12})(?:[.]([0-9]{1,9})[0-9]*|#([0-9]{1,9}))?")
_MODE_LIMIT, _ID_LIMIT = 0o200000, 2**32 - 1


_NUMBERS = {"mode": _MODE_LIMIT, "uid": _ID_LIMIT, "gid": _ID_LIMIT}
_TIMES = {"mtime": "mtime_ns", "atime": "atime_ns"}
_LISTS = {Tool.S3CMD: "s3cmd-attrs", Tool.MC: "mc-attrs"}
_NAMES = {Tool.RCLONE: ("mtime",), Tool.S3FS: (*_NUMBERS, *_TIMES, "ctime")}


def with_attributes_of(tool: Tool, known: Attributes) -> Attributes:
    """The attributes of an object with those that the tool wrote, which are no other metadata of it any more.

    | tool   | metadata                          | mode               | times                               |
    |--------|-----------------------------------|--------------------|-------------------------------------|
    | rclone | ``mtime``                         |                    | seconds, with or without a fraction |
    | s3fs   | ``mode``, ``uid``, ``gid``,       | decimal            | the same                            |
    |        | ``mtime``, ``atime``              | (``st_mode``)      |                                     |
    | s3cmd  | ``s3cmd-attrs``: ``name:value``   | the same           | whole seconds                       |
    |        | joined by ``/``                   |                    |                                     |
    | mc     | ``mc-attrs``: the same            | the same           | ``seconds#nanoseconds``             |

    Sources: rclone.org/s3, s3fs's FAQ, s3cmd's ``S3/S3.py``, mc's ``pkg/disk/stat_linux.go``. What an object names
    under the keys of AWS's own services counts first.
    """
    said, left = _said(tool, known.headers)
    if not said:
        return known
    values = {name: getattr(known, name) for name in (*_NUMBERS, *_TIMES.values())}
    unreadable = dict(known.unreadable)
    for name, text in said.items():
        field = _TIMES.get(name, name)
        if values[field] is None and field not in unreadable:
            values[field] = _time(text) if name in _TIMES else _number(text, _NUMBERS[name])
            if values[field] is None:
                unreadable[field] = text
    found = Attributes(**values, headers=left, modified_ns=known.modified_ns, tags=known.tags)
    if unreadable:
        found.unreadable = unreadable
    return found


def _said(tool: Tool, headers: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The values by name that the tool wrote, and the other headers."""
    mine = (_LISTS[tool],) if tool in _LISTS else _NAMES[tool]
    names = {f"{USER_PREFIX}{name}": name for name in mine}
    found = {names[header]: text for header, text in headers.items() if header in names}
    if tool in _LISTS:
        pairs = (pair.partition(":") for text in found.values() for pair in text.split("/"))
        found = {name: text for name, _, text in pairs}
    wanted = {name: text for name, text in found.items() if name in _NUMBERS or name in _TIMES}
    return wanted, {header: text for header, text in headers.items() if header not in names}


def _number(text: str, limit: int) -> int | None:
    value = int(text) if _DECIMAL.fullmatch(text) else limit
    return value if value < limit else None


def _time(text: str) -> int | None:
    """Nanoseconds since 1970. A fraction counts away from zero with its sign, as the tools print it."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    seconds, fraction, nanoseconds = found.groups()
    rest = int(fraction.ljust(9, "0")) if fraction else int(nanoseconds or 0)
    is_before = fraction is not None and seconds.startswith("-")
    return int(seconds) * SECOND_NS + (-rest if is_before else rest)
