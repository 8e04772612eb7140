"""Escapes names that the other side cannot hold, so that they can be restored.

`^` begins every escape, and a `^` of the name itself is escaped too, so two names never become
the same. ``docs/reference/names.md`` shows this as a table that the tests run.

A key as a file path, component by component:

| component of the key                                        | component of the path             |
|-------------------------------------------------------------|-----------------------------------|
| empty (``a//b``, ``/a``, or a key with bytes that ends in /)| ``^``                             |
| ``.`` and ``..``                                            | ``^2E`` and ``^2E^2E``            |
| NUL, ``^``                                                  | ``^00``, ``^5E``                  |
| first one that begins with the name of a staging directory  | ``^2E`` in place of its first dot |
| directory of a name that is a file too (``a`` and ``a/b``)   | a ``^`` more at its end           |

A file path as a key: ``^`` and every byte that is not UTF-8 become ``^`` and two digits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from fanout.model.path_rules import STAGING_PREFIX

EMPTY = "^"
OF_A_FILE_TOO = "^"
_ESCAPE = re.compile(r"\^([0-9A-F]{2})?")
_IN_KEYS = re.compile("[\0^]")
_IN_FILE_NAMES = re.compile("[\udc80-\udcff^]")


def escape_key(key: str, *, is_directory: bool, files_above: Collection[str] = ()) -> str:
    """The file path of a key; ``files_above`` are the keys that are files and directories above it."""
    file_ends = {len(name) for name in files_above}
    return _escape_key(key, is_directory, file_ends)


def _escape_key(key: str, is_directory: bool, file_ends: Collection[int]) -> str:
    names, end = [], -1
    for position, name in enumerate((key[:-1] if is_directory else key).split("/")):
        end += len(name) + 1
        escaped = _escape_component(name, first=not position)
        names.append(escaped + OF_A_FILE_TOO if end in file_ends else escaped)
    return "/".join(names) + ("/" if is_directory else "")


def _escape_component(name: str, *, first: bool) -> str:
    if not name:
        return EMPTY
    if name in (".", ".."):
        return "^2E" * len(name)
    escaped = _IN_KEYS.sub(_hexadecimal, name)
    return f"^2E{escaped[1:]}" if first and escaped.startswith(STAGING_PREFIX) else escaped


def unescape_path(path: str, *, is_directory: bool) -> tuple[str, list[str]] | None:
    """The key of a file path, and the paths that must be files for it; ``None`` for what ``escape_key`` never makes.

    A directory that ends in ``^`` maps back to a key only if a file of that name exists too.
    """
    names: list[str] = []
    file_ends: set[int] = set()
    siblings: list[str] = []
    end, path_end = -1, -1
    for component in (path[:-1] if is_directory else path).split("/"):
        path_end += len(component) + 1
        marked = len(component) > 1 and component.endswith(OF_A_FILE_TOO)
        name = _unescape(component.removesuffix(OF_A_FILE_TOO) if marked else component, empty=True)
        if name is None:
            return None
        names.append(name)
        end += len(name) + 1
        if marked and not end:  # would need a file of the empty key, which no bucket holds
            return None
        if marked:
            file_ends.add(end)
            siblings.append(path[: path_end - len(OF_A_FILE_TOO)])
    key = "/".join(names) + ("/" if is_directory else "")
    if not key or _escape_key(key, is_directory, file_ends) != path or (not is_directory and end in file_ends):
        return None
    return key, siblings


def escape_path(path: str) -> str:
    """The key of a file path whose bytes need not be UTF-8."""
    return _IN_FILE_NAMES.sub(_hexadecimal, path)


def unescape_key(key: str) -> str | None:
    """The file path of a key that ``escape_path`` made; ``None`` for every other key."""
    path = _unescape(key, empty=False)
    return path if path is not None and escape_path(path) == key else None


def _hexadecimal(found: re.Match[str]) -> str:
    return f"^{os.fsencode(found[0])[0]:02X}"


def _unescape(text: str, *, empty: bool) -> str | None:
    """The text without escapes; ``None`` if a ``^`` begins none. A lone ``^`` is the empty name if there can be one."""
    if empty and text == EMPTY:
        return ""
    if any(found[1] is None for found in _ESCAPE.finditer(text)):
        return None
    raw = _ESCAPE.sub(lambda found: os.fsdecode(bytes([int(found[1], 16)])), text)
    return os.fsdecode(os.fsencode(raw))
