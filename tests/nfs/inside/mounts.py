"""One directory of the server, by each mount; and what the kernel counted of a mount."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

MOUNTS = Path("/mnt")
ANSWERED = 4
POINT_USER = 1000  # every user behind /mnt/point


class Mounts:
    """``a`` and ``b`` are two clients with caches of their own; ``read_only`` is a's, ``point`` squashes all users to
    one, ``squash`` root to nobody; ``served`` is what the server itself sees."""

    def __init__(self, name: str) -> None:
        self.a, self.read_only, self.b = (MOUNTS / mount / name for mount in ("a", "a-ro", "b"))
        self.point, self.squash, self.served = (MOUNTS / mount / name for mount in ("point", "squash", "served"))


def operations(mount: str = "a", figure: int = 0) -> Counter[str]:
    """How often the client asked the server each operation since the mount was made, by /proc/self/mountstats.

    Without SEQUENCE alone, which keeps the lease: its number is a matter of time. Another ``figure`` than the first is
    ``ANSWERED``, the bytes of the answers.
    """
    counted: Counter[str] = Counter()
    of_mount = of_operations = False
    for line in Path("/proc/self/mountstats").read_text().splitlines():
        if line.startswith("device "):
            of_mount, of_operations = f" mounted on {MOUNTS / mount} " in line, False
        elif of_mount and "per-op statistics" in line:
            of_operations = True
        elif of_mount and of_operations and ":" in line:
            name, figures = line.split(":", 1)
            counted[name.strip()] = int(figures.split()[figure])
    counted.pop("SEQUENCE", None)
    return counted


@contextmanager
def counting(mount: str = "a") -> Iterator[Counter[str]]:
    """The operations of the block, which are there after it; caches of names, attributes and pages are empty before."""
    drop_caches()
    before, counted = operations(mount), Counter[str]()
    yield counted
    counted.update(operations(mount) - before)


def drop_caches() -> None:
    """Have every client ask the server again."""
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("3\n")


def wait_until(what: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for what a client or the server does after it has answered; fails if it does not come true."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.1)


def as_user(uid: int, work: Callable[[], None]) -> int:
    """Run ``work`` in a process of another user; its exit status, 99 for an error that it raised."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
