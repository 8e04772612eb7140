"""Notes of a run in its staging directory: small files, each of which is there whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from re import Match, Pattern

from fanout.adapters.posix.errors import GONE, LEADS_AWAY

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
# A longer one is not a note of a run.
_BYTES = 1 << 20


def read_note(directory: int, name: str, form: Pattern[bytes]) -> Match[bytes] | None:
    """The content of a note; ``None`` for what is not there, not a note, or of another form. Raises ``OSError``."""
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except OSError as error:
        if error.errno in GONE | LEADS_AWAY:
            return None
        raise
    try:
        return form.fullmatch(os.read(descriptor, _BYTES))
    except IsADirectoryError:
        return None
    finally:
        os.close(descriptor)


def write_note(directory: int, name: str, content: bytes, *, replaces: bool) -> None:
    """Write a note, in the place of one that is there if it ``replaces``; that stays otherwise. Raises ``OSError``."""
    made = f"{name}-{os.getpid()}-{os.urandom(8).hex()}"
    descriptor = os.open(made, _MAKE, 0o600, dir_fd=directory)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)
    if replaces:
        os.rename(made, name, src_dir_fd=directory, dst_dir_fd=directory)
        return
    with suppress(FileExistsError):
        os.link(made, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.unlink(made, dir_fd=directory)
