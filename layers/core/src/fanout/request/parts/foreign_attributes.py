"""Attributes that other tools write into the metadata of objects, for a request that names the tool.

| tool   | metadata                          | mode               | times                               |
|--------|-----------------------------------|--------------------|-------------------------------------|
| rclone | ``mtime``                         |                    | seconds, with or without a fraction |
| s3fs   | ``mode``, ``uid``, ``gid``,       | decimal            | the same                            |
|        | ``mtime``, ``atime``              | (``st_mode``)      |                                     |
| s3cmd  | ``s3cmd-attrs``: ``name:value``   | the same           | whole seconds                       |
|        | joined by ``/``                   |                    |                                     |
| mc     | ``mc-attrs``: the same            | the same           | ``seconds#nanoseconds``             |

Sources: rclone.org/s3, s3fs's FAQ, s3cmd's ``S3/S3.py``, mc's ``pkg/disk/stat_linux.go``. What an object names under
the keys of AWS's own services counts first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

from fanout.model.entry import SECOND_NS, Attributes
from fanout.request.object_options import USER_PREFIX

_DECIMAL = re.compile(r"[0-9]{1,10}")
_TIME = re.compile(r"(-?[0-9]{1,12})(?:[.]([0-9]{1,9})[0-9]*|#([0-9]{1,9}))?")
_MODE_LIMIT, _ID_LIMIT = 0o200000, 2**32 - 1


class Tool(StrEnum):
    """A tool that writes attributes into the metadata of objects under names of its own."""

    RCLONE = "rclone"
    S3FS = "s3fs"
    S3CMD = "s3cmd"
    MC = "mc"


_NUMBERS = {"mode": _MODE_LIMIT, "uid": _ID_LIMIT, "gid": _ID_LIMIT}
_TIMES = {"mtime": "mtime_ns", "atime": "atime_ns"}
_LISTS = {Tool.S3CMD: "s3cmd-attrs", Tool.MC: "mc-attrs"}
_NAMES = {Tool.RCLONE: ("mtime",), Tool.S3FS: (*_NUMBERS, *_TIMES, "ctime")}


def with_attributes_of(tool: Tool, known: Attributes) -> Attributes:
    """The attributes of an object with those that the tool wrote, which are no other metadata of it any more."""
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
    found = Attributes(**values, headers=left, modified_ns=known.modified_ns)
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
