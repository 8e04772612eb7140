"""Draws the NFS client: in some scripts on mounts it believes what it saw, and hides what others do meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.adversary.script import TWO_MOUNTS, WITHIN_MOUNT, Script
from tests.support.nfs_client import NfsClient


def is_hidden(script: Script) -> bool:
    """Whether a client's cache hides what others do; a stream of its own, so the rest is drawn as before."""
    if script.direction not in (WITHIN_MOUNT, TWO_MOUNTS) or script.plain:
        return False
    return Random(f"cached {script.seed}").random() < 0.4


@contextmanager
def client_of(script: Script, base: Path) -> Iterator[NfsClient | None]:
    """The client of all functions, which also have what they did themselves in mind; ``None`` for a local disk."""
    if not is_hidden(script):
        yield None
        return
    with NfsClient(base).mounted() as client:
        yield client
