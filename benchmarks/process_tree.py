"""A command measured from outside: seconds, processor time and peak memory of it and all that it starts."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Used:
    """What a command took. ``peak_rss_mb`` adds up the peaks (VmHWM) of all its processes."""

    seconds: float
    cpu_seconds: float
    peak_rss_mb: float


class CommandFailed(Exception):
    """A command ended with another status than 0."""


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: Path,
    timeout_seconds: float = 600,
    directory: Path | None = None,
) -> Used:
    """Run a command to its end; its output goes to ``log``. Raises ``CommandFailed``.

    A process's own VmHWM, looked at while it runs: what rusage says of a child begins with the
    peak of the process that started it.
    """
    peaks: dict[int, int] = {}
    ended = threading.Event()
    with log.open("wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=directory,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **environment},
            stdout=output,
            stderr=output,
        )
        watch = threading.Thread(target=_watch, args=(process.pid, peaks, ended))
        watch.start()
        killer = threading.Timer(timeout_seconds, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        killer.cancel()
        ended.set()
        watch.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise CommandFailed(f"{command[0]} ended with {process.returncode}: {log.read_text()[-600:]}")
    return Used(seconds, usage.ru_utime + usage.ru_stime, sum(peaks.values()) / 1000)


def _watch(root: int, peaks: dict[int, int], ended: threading.Event) -> None:
    while not ended.wait(_LOOK_SECONDS):
        for pid in _tree(root):
            with suppress(OSError, StopIteration):  # it may end at any moment
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                peaks[pid] = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _tree(root: int) -> list[int]:
    found, at = [root], 0
    while at < len(found):
        with suppress(OSError):
            for task in Path(f"/proc/{found[at]}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        at += 1
    return found
