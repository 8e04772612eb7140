"""Runs a command in a guest whose ``/`` is this machine's and which has mounts of an NFSv4.1 server."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

from tests.nfs.lab.guests import GUESTS, Guest
from tests.nfs.lab.kernel import HERE, cpio


def lacks() -> str:
    """Why no guest can run here; empty if one may."""
    if os.geteuid() != 0:
        return "only root can give the guest this machine's files"
    reasons = {guest.name: guest.lacks() for guest in GUESTS}
    said = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    return f"{said}; tests/nfs/lab/prepare installs Debian's packages" if all(reasons.values()) else ""


def run(command: str, results: Path, seconds: float, out: IO[bytes] | None = None) -> int | None:
    """The status of a shell command in a guest of its own, in which ``results`` is ``/run/results``; None if it is
    not done in time. What the guest says goes to ``results/console`` and to ``out``, after which guest it is.

    Raises ``RuntimeError`` where no guest comes up.
    """
    with _up(command, results, out) as running:
        running.wait(seconds)
    status = results / "status"
    return int(status.read_text()) if status.exists() else None


def prepare(out: IO[bytes]) -> None:
    """Fetch what the first guest that comes up needs. Raises ``RuntimeError`` where none does."""
    with tempfile.TemporaryDirectory(prefix="nfs-results-") as results, _up("true", Path(results), out):
        pass


@contextmanager
def _up(command: str, results: Path, out: IO[bytes] | None) -> Iterator[_Running]:
    """The first guest of the table that comes up."""
    reasons: list[str] = []
    for guest in GUESTS:
        reason = guest.lacks() or _fetched(guest)
        if not reason:
            with _started(guest, command, results, reasons, out) as running:
                if running.is_up(guest.seconds):
                    yield running
                    return
            reason = f"did not come up within {guest.seconds:.0f} s"
            if guest is GUESTS[-1]:
                reason += f":\n{(results / 'console').read_text(errors='replace')[-5000:]}"
            else:
                guest.note(reason)
        reasons.append(f"not {guest.name}: {reason}")
    raise RuntimeError("\n".join(reasons))


def _fetched(guest: Guest) -> str:
    """Why its kernel cannot be had; empty where it is there."""
    try:
        guest.kernel.fetch()
    except (OSError, RuntimeError) as error:
        return str(error)
    return ""


@contextmanager
def _started(guest: Guest, command: str, results: Path, before: list[str], out: IO[bytes] | None) -> Iterator[_Running]:
    with tempfile.TemporaryDirectory(prefix="nfs-") as at:
        initrd = Path(at) / "initrd"
        files = [(name, 0o100755, (HERE / "guest" / name).read_bytes()) for name in ("init", "serve")]
        files.append(("results", 0o100644, str(results.resolve()).lstrip("/").encode()))
        files.append(("command", 0o100644, command.encode()))
        initrd.write_bytes(_four((guest.kernel.at / "initrd").read_bytes()) + cpio(files))
        with guest.start(guest.kernel, initrd) as started:
            running = _Running(started, "\n".join([*before, f"guest: {guest.name}", ""]), results / "console", out)
            try:
                yield running
            finally:
                running.end()


class _Running:
    """A guest at work; its console is written down as it speaks."""

    def __init__(self, started: list[str], first: str, console: Path, out: IO[bytes] | None) -> None:
        self._known = threading.Event()
        self._is_up = False
        self._process = subprocess.Popen(
            started,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, args=(first.encode(), console, out))
        self._reader.start()

    def _read(self, first: bytes, console: Path, out: IO[bytes] | None) -> None:
        assert self._process.stdout is not None
        with console.open("wb", buffering=0) as kept:
            for line in chain([first], self._process.stdout):
                kept.write(line)
                if out is not None:
                    out.write(line)
                    out.flush()
                if b"guest: up" in line:
                    self._is_up = True
                    self._known.set()
        self._known.set()

    def is_up(self, seconds: float) -> bool:
        """Whether it comes up within so many seconds."""
        self._known.wait(seconds)
        return self._is_up

    def wait(self, seconds: float) -> None:
        """Wait for its end, for so many seconds at the most."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.end()

    def end(self) -> None:
        """End it, whatever it does."""
        if self._process.poll() is None:
            # All at once: a process of a guest in user mode that outlives its kernel is one of this machine.
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()


def _four(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
