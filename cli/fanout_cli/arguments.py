"""Arguments of the form NAME=VALUE, and the request file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fanout.model.errors import InvalidRequest
from fanout.model.location import S3Location, parse_location
from fanout_cli.local.paths import MOUNT_NAME

DEFAULT_MOUNT = "data"


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


def parse_save(text: str) -> tuple[S3Location, Path]:
    """s3://bucket/prefix/=DIRECTORY. Raises ``InvalidRequest``."""
    location, separator, directory = text.partition("=")
    if not separator or not directory:
        raise InvalidRequest("--s3-save", f"{text!r} has no directory", "s3://bucket/prefix/=DIRECTORY")
    return _s3("--s3-save", location), Path(directory)


def _s3(option: str, text: str) -> S3Location:
    location = parse_location(option, text, ())
    if not isinstance(location, S3Location):
        raise InvalidRequest(option, f"{text!r} is not in S3", "s3://bucket/prefix/")
    return location


def read_request(path: Path) -> Any:
    """The JSON document of a request file. Raises ``InvalidRequest`` that names the file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InvalidRequest(
            str(path), f"cannot be read ({error.strerror})", "name a file that holds a request"
        ) from error
    except ValueError as error:
        raise InvalidRequest(str(path), f"is not JSON ({error})", "see docs/reference/request.md") from error
