"""Faults of the network and of the server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SERVED = Path("/mnt/served")
_MIB = 1024 * 1024
_NETWORK = {"a": 1, "b": 2, "point": 3, "squash": 4}


def _run(command: str) -> None:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command}: {done.stderr}")


class Faults:
    """Faults that last until ``end``, or as long as a ``with``."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def end(self) -> None:
        """Undo what was done, the last first."""
        while self._undo:
            self._undo.pop()()

    @contextmanager
    def cut(self, client: str = "a") -> Iterator[None]:
        """No packet passes between the server and a client."""
        with self._network(client, "loss 100%", both=True):
            yield

    @contextmanager
    def answers_lost(self, client: str = "a") -> Iterator[None]:
        """What a client asks arrives and is done; no answer does."""
        with self._network(client, "loss 100%", both=False):
            yield

    @contextmanager
    def slow(self, client: str = "a", milliseconds: int = 50) -> Iterator[None]:
        """Every answer takes longer."""
        with self._network(client, f"delay {milliseconds}ms", both=False):
            yield

    @contextmanager
    def _network(self, client: str, what: str, *, both: bool) -> Iterator[None]:
        number = _NETWORK[client]
        prefixes = [f"tc qdisc %s dev server-{number} root"]
        if both:
            prefixes.append(f"ip netns exec {number} tc qdisc %s dev client-{number} root")
        for prefix in prefixes:
            _run(f"{prefix % 'replace'} netem limit 100000 {what}")

        def undo() -> None:
            for prefix in prefixes:
                subprocess.run((prefix % "del").split(), capture_output=True, check=False)  # twice does nothing

        self._undo.append(undo)
        try:
            yield
        finally:
            undo()

    def restart_server(self) -> None:
        """The server forgets every client, and has them claim what they had open."""
        _run("rpc.nfsd 0")
        time.sleep(0.5)
        _run("rpc.nfsd -N 3 -V 4.1 -N 4.2 -G 10 -L 10 8")

    def fill_disk(self) -> None:
        """Leave nothing of the server's disk."""
        filler = SERVED / "filler"
        self._undo.append(lambda: filler.unlink(missing_ok=True))
        os.sync()
        free = os.statvfs(SERVED)
        with filler.open("wb", buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, int(free.f_bavail * free.f_frsize * 0.9))
            file.seek(0, os.SEEK_END)
            for size in (_MIB, 4096):
                with suppress(OSError):  # ENOSPC, which is wanted
                    while file.write(bytes(size)) == size:
                        os.fsync(file.fileno())

    def set_quota(self, uid: int, kib: int) -> None:
        """A user may have so many KiB on the server's disk."""
        _run(f"setquota -u {uid} {kib} {kib} 0 0 {SERVED}")
        self._undo.append(lambda: _run(f"setquota -u {uid} 0 0 0 0 {SERVED}"))
