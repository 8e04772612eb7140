"""Removes the directory of ``fanout selftest`` on a mount: by its name, and only if it holds nothing but its mark."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.runtime.clients import settings

FIELD = "directory"
MARK = "made-by-fanout-selftest"
_NAME = re.compile(r"fanout-selftest-[0-9a-z-]{1,40}")


def remove_selftest(event: Json) -> Json:
    """Remove the directory ``directory`` of the first mount; ``error`` says why it is still there.

    Raises ``InvalidRequest`` for any other name.
    """
    name = event[FIELD]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequest(FIELD, "is not a directory of a self-test", "fanout-selftest-ID")
    mount = next(iter(settings().mounts.values()))
    try:
        _remove(Path(mount), name)
    except FileNotFoundError:
        return {"error": None}
    except OSError as error:
        return {"error": f"{name}: {error.strerror}"}
    return {"error": None}


def _remove(mount: Path, name: str) -> None:
    above = os.open(mount, os.O_RDONLY | os.O_DIRECTORY)
    try:
        directory = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
        try:
            if os.listdir(directory) == [MARK]:
                with suppress(FileNotFoundError):  # by another attempt at the same time
                    os.unlink(MARK, dir_fd=directory)
        finally:
            os.close(directory)
        os.rmdir(name, dir_fd=above)
    finally:
        os.close(above)
