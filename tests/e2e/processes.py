"""The worker processes of the emulator, as the machine's process table shows them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def environment_of(pid: int) -> dict[str, str]:
    """The environment that a process was started with; empty if it is gone."""
    try:
        raw = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.partition(b"=") for item in raw.split(b"\0") if item)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def processor_ticks(pid: int) -> int:
    """Processor time that a process took, in clock ticks; 0 if it is gone."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def listening_addresses(pid: int) -> set[str]:
    """Addresses (hexadecimal, as the kernel writes them) on which a process listens for TCP."""
    sockets = set()
    for descriptor in (PROC / str(pid) / "fd").iterdir():
        try:
            sockets.add(os.readlink(descriptor).removeprefix("socket:[").removesuffix("]"))
        except FileNotFoundError:
            continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (PROC / "net" / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                found.add(fields[1].split(":")[0])
    return found


class Workers:
    """Processes that the emulator at ``endpoint`` started to run functions."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint

    def running(self, function: str) -> Iterator[int]:
        """Process ids of the interpreters that run a function whose name contains ``function``."""
        for entry in PROC.iterdir():
            if not entry.name.isdigit():
                continue
            environment = environment_of(int(entry.name))
            is_ours = environment.get("AWS_ENDPOINT_URL") == self._endpoint
            if is_ours and function in environment.get("AWS_LAMBDA_FUNCTION_NAME", "") and self._is_python(entry):
                yield int(entry.name)

    @staticmethod
    def _is_python(entry: Path) -> bool:
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            return False
        return b"awslambdaric" in command and b"bwrap" not in command

    def kill_busy(self, function: str, within_seconds: float) -> bool:
        """SIGKILL the worker that is at work, told from idle ones by its processor time; whether there was one."""
        deadline = time.monotonic() + within_seconds
        while time.monotonic() < deadline:
            before = {pid: processor_ticks(pid) for pid in self.running(function)}
            time.sleep(0.05)
            taken = {pid: processor_ticks(pid) - ticks for pid, ticks in before.items()}
            busiest = max(taken, key=lambda pid: taken[pid], default=0)
            if busiest and taken[busiest] >= 2:
                os.kill(busiest, signal.SIGKILL)
                return True
        return False
