"""A lock: one local run at a time in a state directory."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from fanout_cli.local.errors import LocalRunError


def hold(path: Path) -> IO[str]:
    """Hold the lock until what is handed back is closed, or this process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "unknown"
        lock.close()
        raise LocalRunError(
            f"another local run (process {holder}) uses {path.parent}: wait for it, or choose another state directory"
        ) from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock
