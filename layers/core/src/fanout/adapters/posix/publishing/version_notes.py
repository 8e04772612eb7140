"""Small files next to versions: the note of each, and whose they are."""

from __future__ import annotations

import errno
import os

# Chosen: a note is some hundred bytes; one that somebody made larger is not read whole.
_NOTE_BYTES = 64 * 1024


def read_whole(directory: int, name: str) -> bytes:
    """The content of a small file. Raises ``OSError``."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory)
    try:
        return os.read(descriptor, _NOTE_BYTES)
    finally:
        os.close(descriptor)


def read_note(above: int, name: str) -> bytes:
    """A note as it is; nothing where somebody put a symlink or a directory in its place."""
    try:
        return read_whole(above, name)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENOENT):
            raise
        return b""
