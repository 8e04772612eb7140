"""Faults of the network and of the server."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SERVED = Path("/mnt/served")
_STATUS = "status: "
_MIB = 1024 * 1024
_NETWORK = {"a": 1, "b": 2, "point": 3, "squash": 4}


class Faults:
    """Faults that last until ``end``, or as long as a ``with``.

    Their commands are run by a shell that was begun before a test opens files: a process begun later closes those that
    it inherits, which waits for the server if one was written, so that a cut could not be undone.
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        pipe = subprocess.PIPE
        self._shell = subprocess.Popen(["sh"], stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)

    def end(self) -> None:
        """Undo what was done, the last first."""
        while self._undo:
            self._undo.pop()()

    def close(self) -> None:
        """Undo what was done, and end the shell."""
        self.end()
        self._shell.communicate()

    def _run(self, command: str) -> None:
        status, said = self._status(command)
        if status:
            raise RuntimeError(f"{command}: {said}")

    def _status(self, command: str) -> tuple[int, str]:
        assert self._shell.stdin is not None and self._shell.stdout is not None
        self._shell.stdin.write(f"{command}; echo; echo {_STATUS}$?\n")
        self._shell.stdin.flush()
        said = ""
        for line in self._shell.stdout:
            if line.startswith(_STATUS):
                return int(line.removeprefix(_STATUS)), said
            said += line
        raise RuntimeError(f"{command}: the shell ended: {said}")

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
            self._run(f"{prefix % 'replace'} netem limit 100000 {what}")

        def undo() -> None:
            for prefix in prefixes:
                self._status(prefix % "del")  # twice does nothing

        self._undo.append(undo)
        try:
            yield
        finally:
            undo()

    def restart_server(self) -> None:
        """The server forgets every client, and has them claim what they had open."""
        self._run("rpc.nfsd 0")
        time.sleep(0.5)
        self._run("rpc.nfsd -N 3 -V 4.1 -N 4.2 -G 10 -L 10 8")

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
        self._run(f"setquota -u {uid} {kib} {kib} 0 0 {SERVED}")
        self._undo.append(lambda: self._run(f"setquota -u {uid} 0 0 0 0 {SERVED}"))
