"""The ends of a run on this machine, as they are typed: a directory, or a prefix of a bucket.

A directory is a place below the one mount of the engine: ``/srv/in`` is ``efs://local/srv/in`` in the ledger.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from fanout_cli.command_error import CommandError
from fanout_cli.places import resolved

# As ``runtime.embedded.machine`` calls the mount that holds all directories.
MOUNT = "local"
_MOUNT = f"efs://{MOUNT}"
_IS_NAMED = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}:(?!//)")


def source_of(text: str) -> str:
    """The location of a tree to read. Raises ``CommandError`` for what is not a directory or a bucket's prefix."""
    location = _location(text)
    path = path_of(location)
    if path is not None and not path.is_dir():
        if path.exists():
            raise CommandError(
                f"{text} is a file; name its directory {shown(path.parent)} and add --include {path.name!r}"
            )
        raise CommandError(f"{text}: there is no such directory; name one that is there, or s3://bucket/prefix/")
    return location


def destination_of(text: str) -> str:
    """The location of a tree to write, which need not be there yet. Raises ``CommandError``."""
    location = _location(text)
    path = path_of(location)
    if path is not None and path.exists() and not path.is_dir():
        raise CommandError(f"{text} is a file; name a directory, which need not be there yet")
    return location


def is_s3(location: Any) -> bool:
    """Whether an end is in a bucket."""
    return isinstance(location, str) and location.startswith("s3://")


def path_of(location: Any) -> Path | None:
    """The directory of a location; ``None`` for a bucket."""
    is_here = isinstance(location, str) and location.startswith(f"{_MOUNT}/")
    return Path(location.removeprefix(_MOUNT)) if is_here else None


def in_paths(text: str) -> str:
    """A text of the engine with directories as they are on this machine."""
    return text.replace(f"{_MOUNT}/", "/")


def refuse_ledger_in_ends(ledger: Path, source: Any, destination: Any) -> None:
    """Raise ``CommandError`` where the run would copy its own ledger, or replace or delete it."""
    ledger = Path(os.path.realpath(ledger))
    for name, location in (("source", source), ("destination", destination)):
        path = path_of(location)
        if path is not None and (ledger.is_relative_to(path) or path.is_relative_to(ledger)):
            raise CommandError(
                f"the {name} {shown(path)} and the ledger {shown(ledger)} are in each other; give --state another place"
            )


def shown(path: Path) -> str:
    """A path for people."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _location(text: str) -> str:
    if is_s3(text):
        return text
    if _IS_NAMED.match(text) and not os.path.lexists(text):
        text = resolved(text)
        if is_s3(text):
            return text
    scheme, separator, _ = text.partition("://")
    if separator:
        raise CommandError(
            f"{text}: {scheme}:// is not read on this machine; name a directory, such as /mnt/efs/x, or "
            "s3://bucket/prefix/"
        )
    if not text:
        raise CommandError("an end is empty; name a directory or s3://bucket/prefix/")
    path = os.path.realpath(text)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise CommandError(f"{shown(Path(path))} is not UTF-8; name the directory by a symlink that is") from None
    return f"{_MOUNT}{path}"
