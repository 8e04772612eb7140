"""Places with names: ``photos:sub/`` is below the place that ``fanout.toml`` calls ``photos``.

The file lies in the working directory, or below the user's configuration (XDG); ``FANOUT_CONFIG`` names another.

    [places]
    photos = "s3://my-photos/originals/"
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from fanout.model.errors import did_you_mean, meant
from fanout_cli.command_error import CommandError

FILE = "fanout.toml"
SCHEMES = ("s3", "efs")
_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,63}):(?!//)(.*)", re.DOTALL)


def resolved(text: str, *, writes: bool = False) -> str:
    """The location of an end as it was typed. Raises ``CommandError`` for a name that no file gives a place.

    ``writes`` is true of a destination.

    What is neither a name nor a path of this machine is left as it is, for the request's own check.
    """
    match = _NAMED.fullmatch(text)
    if match and match[1] not in SCHEMES:
        return _below(match[1], match[2])
    if not match and "://" not in text:
        way = "copy to S3 or EFS, and fetch it from there" if writes else "put it into S3 first"
        local = f"--mount data={text}, then efs:///" if writes else f"--s3-load {text}=s3://my-data/src/"
        where = f"is on this machine, which no stack sees; {way}"
        raise CommandError(f"{text} {where}; for the local stack: fanout up {local}")
    return text


def places() -> dict[str, str]:
    """The places by their names. Raises ``CommandError`` for a file that is not as it must be."""
    file = config_file()
    if file is None:
        return {}
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read ({error}); mend it, or name another in FANOUT_CONFIG") from error
    found = document.get("places", {})
    if not isinstance(found, Mapping) or not all(isinstance(one, str) and "://" in one for one in found.values()):
        raise CommandError(f'{file}: [places] holds lines such as photos = "s3://my-photos/originals/"')
    if taken := [name for name in found if name in SCHEMES or not _NAMED.fullmatch(f"{name}:")]:
        raise CommandError(f"{file}: a place cannot be called {taken[0]!r}; take letters, digits, - and _")
    return dict(found)


def config_file() -> Path | None:
    """The file that gives places their names, if there is one."""
    if named := os.environ.get("FANOUT_CONFIG"):
        return Path(named)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return next((one for one in (Path(FILE), home / "fanout" / FILE) if one.is_file()), None)


def complete_places(incomplete: str) -> list[str]:
    """The beginnings of places, for the shell; none of a file that cannot be read."""
    try:
        named = [f"{name}:" for name in places()]
    except CommandError:
        named = []
    return [one for one in (*named, "s3://", "efs:///") if one.startswith(incomplete)]


def _below(name: str, rest: str) -> str:
    known = places()
    if name not in known:
        question = did_you_mean(meant(name, known))
        raise CommandError(
            f"{name}: is no place; {question}{'Else give' if question else 'give'} it one in {config_file() or FILE}, "
            f'below [places]: {name} = "s3://bucket/prefix/"'
        )
    return f"{known[name].rstrip('/')}/{rest.lstrip('/')}" if rest else known[name]
