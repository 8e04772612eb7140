"""Arguments of the form NAME=VALUE, and the request file."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from fanout.model.errors import InvalidRequest
from fanout.model.location import S3Location, parse_location
from fanout.request.fields.checked import checked
from fanout.request.parse import Fields, parse_request
from fanout_cli.local.paths import MOUNT_NAME

DEFAULT_MOUNT = "data"
# Stands for the stack's first mount, whose name only the stack knows.
_DEFAULT = "first"
_MOUNT = re.compile(r"efs://([a-z][a-z0-9-]{0,31})(?:/|$)")


def parse_mounts(texts: list[str], default: Path) -> dict[str, Path]:
    """Mounts by name, in their order; ``data`` at ``default`` if none is given. Raises ``InvalidRequest``."""
    mounts: dict[str, Path] = {}
    for text in texts:
        name, separator, directory = text.partition("=")
        if not separator or not MOUNT_NAME.fullmatch(name):
            raise InvalidRequest("--mount", f"{text!r} is not NAME=DIRECTORY", "a name is of a-z, 0-9 and -")
        if name in mounts:
            raise InvalidRequest("--mount", f"{name!r} is given twice", "give each mount a name of its own")
        if not Path(directory).is_dir():
            raise InvalidRequest("--mount", f"{directory} is not a directory", "make it first")
        mounts[name] = Path(directory).resolve()
    if not mounts:
        default.mkdir(parents=True, exist_ok=True)
        mounts[DEFAULT_MOUNT] = default
    return mounts


def parse_load(text: str) -> tuple[Path, S3Location]:
    """DIRECTORY=s3://bucket/prefix/. Raises ``InvalidRequest``."""
    directory, _, location = text.rpartition("=")
    if not Path(directory).is_dir() or not directory:
        raise InvalidRequest("--s3-load", f"{directory or text!r} is not a directory", "DIRECTORY=s3://bucket/prefix/")
    return Path(directory), _s3("--s3-load", location)


def _s3(option: str, text: str) -> S3Location:
    location = parse_location(option, text, ()) if text.startswith("s3://") else None
    if not isinstance(location, S3Location):
        raise InvalidRequest(option, f"{text!r} is not in S3", "s3://bucket/prefix/")
    return location


def mounts_of(document: Any, default: str = DEFAULT_MOUNT) -> tuple[str, ...]:
    """The mounts that a request names, or the default one."""
    ends = [document.get(end) for end in ("source", "destination")] if isinstance(document, dict) else []
    found = [match[1] for end in ends if isinstance(end, str) and (match := _MOUNT.match(end))]
    return tuple(dict.fromkeys(found)) or (default,)


def check_request(document: Any) -> None:
    """Raise ``InvalidRequest`` for what no stack could run; what only a stack knows, its mounts, is left to it.

    The rest of a request with ``resume_from`` is in the ledger of the run that it names.
    """
    if isinstance(document, dict) and document.get("resume_from"):
        checked({"source": "", "destination": "", **document}, Fields)
    elif isinstance(document, dict):
        _check_with_some_mounts(document, mounts_of(document))
    else:
        parse_request(document, (), sys.maxsize)


def _check_with_some_mounts(document: Any, named: tuple[str, ...]) -> None:
    """``efs:///`` may be the mount that the other end names, or another one: either may be right."""
    try:
        parse_request(document, named, sys.maxsize)
    except InvalidRequest:
        if not any(str(document.get(end)).startswith("efs:///") for end in ("source", "destination")):
            raise
        parse_request(document, (_DEFAULT, *named), sys.maxsize)


def read_request(path: Path) -> Any:
    """The JSON document of a request file, ``-`` for standard input. Raises ``InvalidRequest`` that names the file."""
    try:
        return json.loads(sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes())
    except OSError as error:
        raise InvalidRequest(
            str(path), f"cannot be read ({error.strerror})", "name a file that holds a request"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(str(path), f"is not JSON ({error})", "see docs/reference/request.md") from error
