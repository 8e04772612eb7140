"""The ends of a run on this machine, as they are typed: a directory, or a prefix of a bucket.

A directory is a place below the one mount of the engine: ``/srv/in`` is ``efs://local/srv/in`` in the ledger.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fanout.model.location import S3Location, nest
from fanout_cli.command_error import CommandError
from fanout_cli.places import resolved

# As ``runtime.embedded.machine`` calls the mount that holds all directories.
MOUNT = "local"
_MOUNT = f"efs://{MOUNT}"
Mounts = Mapping[str, Path]
NO_MOUNTS: Mounts = MappingProxyType({})
_IS_NAMED = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}:(?!//)")


def mounts_of(words: Sequence[str]) -> Mounts:
    """The directories of ``--mount NAME=DIRECTORY``, by their names. Raises ``CommandError``."""
    from fanout_cli.local.paths import MOUNT_NAME

    found: dict[str, Path] = {}
    for word in words:
        name, separator, directory = word.partition("=")
        if not separator or not MOUNT_NAME.fullmatch(name):
            raise CommandError(f"--mount {word} is not NAME=DIRECTORY; a name has a-z, 0-9 and -, a letter first")
        if name in found:
            raise CommandError(f"--mount {name} is given twice; give each directory a name of its own")
        if not Path(directory).is_dir():
            raise CommandError(f"--mount {word}: there is no such directory; mount the file system first")
        found[name] = Path(os.path.realpath(directory))
    return found


def source_of(text: str, mounts: Mounts = NO_MOUNTS) -> str:
    """The location of a tree to read. Raises ``CommandError`` for what is not a directory or a bucket's prefix."""
    location = _location(text, mounts)
    path = path_of(location)
    if path is not None and not path.is_dir():
        if path.exists():
            raise CommandError(
                f"{text} is a file; name its directory {shown(path.parent)} and add --include {path.name!r}"
            )
        raise CommandError(f"{text}: there is no such directory; name one that is there, or s3://bucket/prefix/")
    return location


def destination_of(text: str, mounts: Mounts = NO_MOUNTS) -> str:
    """The location of a tree to write, which need not be there yet. Raises ``CommandError``."""
    location = _location(text, mounts)
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


def refuse_ledger_in_ends(ledger: Path | S3Location, source: Any, destination: Any) -> None:
    """Raise ``CommandError`` where the run would copy its own ledger, or replace or delete it."""
    for name, location in (("source", source), ("destination", destination)):
        path = path_of(location)
        if isinstance(ledger, S3Location):
            if is_s3(location) and nest(str(location), str(ledger)):
                raise CommandError(
                    f"the {name} {location} and the ledger {ledger} are in each other; give --work another prefix"
                )
        elif path is not None and nest(f"{path}/", f"{os.path.realpath(ledger)}/"):
            raise CommandError(
                f"the {name} {shown(path)} and the ledger {shown(ledger)} are in each other; give --state another place"
            )


def shown(path: Path) -> str:
    """A path for people."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def _location(text: str, mounts: Mounts) -> str:
    if _IS_NAMED.match(text) and not os.path.lexists(text):
        text = resolved(text)
    if is_s3(text):
        return text
    scheme, separator, rest = text.partition("://")
    if separator:
        text = _below_mount(text, scheme, rest, mounts)
    if not text:
        raise CommandError("SOURCE or DESTINATION is empty; name a directory or s3://bucket/prefix/")
    path = os.path.realpath(text)
    try:
        path.encode()
    except UnicodeEncodeError:
        raise CommandError(f"{shown(Path(path))} is not UTF-8; name the directory by a symlink that is") from None
    return f"{_MOUNT}{path}"


def _below_mount(text: str, scheme: str, rest: str, mounts: Mounts) -> str:
    """The path of ``efs://NAME/path``; without a name the first mount is meant."""
    name, _, path = rest.partition("/")
    if scheme != "efs":
        raise CommandError(
            f"{text}: {scheme}:// is not read on this machine; name a directory, such as /mnt/efs/x, or "
            "s3://bucket/prefix/"
        )
    place = mounts.get(name) if name else next(iter(mounts.values()), None)
    if place is None:
        raise CommandError(f"{text}: add --mount {name or 'NAME'}=DIRECTORY, or name the directory itself")
    if ".." in path.split("/"):
        raise CommandError(f"{text} leads out of its mount; name a directory below it")
    return f"{place}/{path.strip('/')}"
