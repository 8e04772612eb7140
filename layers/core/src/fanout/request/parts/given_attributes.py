"""Attributes that a request gives to copies: docs/understand/attributes.md is the contract.

| an attribute of the copy  | without ``override``                   | with ``override``    |
|---------------------------|----------------------------------------|----------------------|
| that the request gives    | the source's, else the request's       | the request's        |
| that it does not give     | the source's                           | the source's         |
| mode of a symlink         | none: a symlink has no mode of its own | none                 |
| set-id bits of a file     | the source's, where its owner and group are the source's too, else none       ||
"""

from __future__ import annotations

import stat
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from fanout.model.entry import Attributes, Entry, Kind, whole_seconds
from fanout.request.parts.foreign_attributes import Tool, with_attributes_of

_LAST_ID = 2**32 - 2  # chown(2) takes the number after it for "leave as it is"
_SET_ID = stat.S_ISUID | stat.S_ISGID


class Mtime(StrEnum):
    """The mtime of a copy: when the object was written, or when the copy was."""

    LAST_MODIFIED = "last-modified"
    NOW = "now"


class GivenAttributes(Struct, frozen=True, forbid_unknown_fields=True, rename={"read_from": "from"}):
    """The attributes of copies whose source has none or, with ``override``, of all. Modes are octal text."""

    uid: Annotated[int, Meta(ge=0, le=_LAST_ID, description="owner of copies whose object names none")] | None = None
    gid: Annotated[int, Meta(ge=0, le=_LAST_ID, description="group of copies whose object names none")] | None = None
    file_mode: Annotated[
        str,
        Meta(
            pattern="^(0?[0-7]{3})?$",
            description="mode of files whose object names none; default: 0644",
            extra_json_schema={"allowed": 'octal text from "0000" to "0777"'},
        ),
    ] = ""
    directory_mode: Annotated[
        str,
        Meta(
            pattern="^([02]?[0-7]{3})?$",
            description="mode of directories whose object names none, or that keys imply; default: 0755",
            extra_json_schema={"allowed": 'octal text from "0000" to "0777", with the set-gid bit to "2777"'},
        ),
    ] = ""
    mtime: Annotated[
        Mtime | None,
        Meta(
            description="mtime of copies whose object names none: the Last-Modified, as by default;"
            " or now: the time of the copy"
        ),
    ] = None
    read_from: Annotated[
        Tool | None,
        Meta(description="read the attributes that this tool wrote, where the object names none as AWS's services do"),
    ] = None
    set_ids: Annotated[
        bool,
        Meta(description="keep the set-uid and set-gid bits of files that objects name, for any owner"),
    ] = False
    override: Annotated[
        bool, Meta(description="give these attributes to every copy, whatever its source names; also from a mount")
    ] = False

    @property
    def are_any(self) -> bool:
        """Whether the request gives an attribute."""
        return self != GivenAttributes(override=self.override)

    def of(self, entry: Entry, known: Attributes) -> Attributes:
        """The attributes of an entry of the source, which itself has the ``known`` ones."""
        if self.read_from is not None:
            known = with_attributes_of(self.read_from, known)
        uid = self._one(self.uid, known.uid)
        gid = self._one(self.gid, known.gid)
        mtime_ns, atime_ns, modified_ns = self._times(entry, known)
        mode = self._mode(entry, known, is_owned=(uid, gid) == (known.uid, known.gid))
        given = Attributes(mode, uid, gid, mtime_ns, atime_ns, known.headers, modified_ns)
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
        """mtime, atime and the time that stands for the former."""
        if self.mtime is None or (known.mtime_ns is not None and not self.override):
            return known.mtime_ns, known.atime_ns, known.modified_ns
        if self.mtime is Mtime.NOW:
            return None, None, None
        modified_ns = whole_seconds(entry.changed_ns)
        return modified_ns, None if self.override else known.atime_ns, modified_ns


def _bits(mode: str) -> int | None:
    return int(mode, 8) if mode else None
