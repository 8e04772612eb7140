"""A local user has a directory at the destination before the run does, or reads in one whose source was closed since.

The source has a private directory, the vault, with a file in it that its own mode would let anybody read. Wherever that
file is at the destination, only its owner may enter the directory: whoever made it there, and whatever its mode was.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.script import S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault
from tests.support.access_lists import ACCESS_LISTS, list_for

OPEN_VAULT, CLOSE_VAULT, MAKE_VAULT = "open-vault", "close-vault", "make-vault"
VAULT, SECRET = "vault", "secret-"
MAKER = 12_348
_OPEN, _CLOSED = 0o755, 0o700
# Options that give directories other modes, or may leave the vault out.
_NOT_WITH = frozenset({"attributes", "include", "exclude", "max_size", "min_size", "manifest", "publish", "overwrite"})
_NOT_WITH |= {"newer_than", "older_than", "modified_after", "modified_before"}
Acts = tuple[Act, ...]


def with_vault(draw: Random, direction: str, options: Mapping[str, Any], acts: Acts) -> Acts:
    """The acts with him at work, now and then: before the first run, during it, or in what it left open."""
    chance, when = draw.random(), draw.choice(("before", "before", "during", "left open"))
    fits = direction in (S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS) and not options.keys() & _NOT_WITH
    if not fits or os.geteuid() or chance > 0.15 or acts[0].what != "run":
        return acts
    first, seed = acts[0], draw.randrange(10**6)
    close = Act("change", change=Change(CLOSE_VAULT, VAULT, seed))
    make = Change(MAKE_VAULT, VAULT, draw.randrange(10**6), "destination")
    if when == "before":
        return (close, Act("change", change=make), *acts)
    if when == "during":
        fault = Fault("copy/any", soon(draw, 120), "change", draw.random() < 0.5, change=make)
        return (close, replace(first, faults=(*first.faults, fault)), *acts[1:])
    return (Act("change", change=Change(OPEN_VAULT, VAULT, seed)), first, close, *acts[1:])


def vault(change: Change) -> dict[str, tuple[int, bytes]]:
    """The vault of a source as a change makes it: the modes and bytes of what is in it."""
    if change.what == OPEN_VAULT:
        return {f"{VAULT}/": (_OPEN, b""), f"{VAULT}/open": (0o644, b"anybody's")}
    return {f"{VAULT}/": (_CLOSED, b""), f"{VAULT}/{SECRET}{change.seed}": (0o644, b"salaries")}


def put_vault(root: Path, change: Change) -> None:
    """The vault in a directory."""
    for path, (mode, data) in vault(change).items():
        place = root / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.write_bytes(data)
        place.chmod(mode)


def vault_headers(path: str, mode: int) -> dict[str, str]:
    """The metadata of an object of the vault."""
    form = stat.S_IFDIR if path.endswith("/") else stat.S_IFREG
    told = {"file-permissions": f"0{form | mode:06o}", "file-owner": "0", "file-group": "0"}
    return {f"x-amz-meta-{name}": text for name, text in told.items()}


def make_vault(_root: Path, path: Path, seed: int) -> None:
    """He makes the directory, open to all or closed to others than him, and puts a file of his own into it.

    Now and then what is made in it is to get his group, or a list of who may enter.
    """
    if os.path.lexists(path):
        return
    path.mkdir(parents=True)
    (path / f"his-{seed}").write_bytes(b"his")
    for one in (path, path / f"his-{seed}"):
        os.chown(one, MAKER, MAKER)
    path.chmod((_OPEN, 0o777, _CLOSED, 0o1700)[seed % 4] | (stat.S_ISGID if seed & 4 else 0))
    if seed & 8:
        for name in ACCESS_LISTS:
            os.setxattr(path, name, list_for(MAKER))


MADE: dict[str, Callable[[Path, Path, int], None]] = {MAKE_VAULT: make_vault}


def opened_vault(root: Path) -> Iterator[str]:
    """A directory with a secret in it that somebody else may enter."""
    place = root / VAULT
    if not place.is_dir() or not any(name.startswith(SECRET) for name in os.listdir(place)):
        return
    found = place.stat()
    if found.st_mode & 0o077 or MAKER in (found.st_uid, found.st_gid) or set(os.listxattr(place)) & {*ACCESS_LISTS}:
        is_now = (
            f"has mode {stat.S_IMODE(found.st_mode):04o}, owner {found.st_uid}:{found.st_gid}, {os.listxattr(place)}"
        )
        yield f"a private file was put into {place}, which {is_now}"
