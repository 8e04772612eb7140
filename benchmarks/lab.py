"""The simulated EFS as a process: started with several mounts, asked over its control socket."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BINARY = Path(".fanout/bench/efslab")
# tmpfs, so that no run waits for memory that was never used; of this process alone.
MEMORY = Path(f"/dev/shm/fanout-bench-files-{os.getpid()}")
REMEMBERED_SECONDS = 3.0  # what the simulated kernels keep names and attributes for in real time
_START_SECONDS = 60


class LabFailed(Exception):
    """The simulation did not start, or refused something."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("lab", timeout=30)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


@dataclass(frozen=True)
class Lab:
    """A running simulation. ``mounts`` are the clients; ``reader`` is one more that no tool uses."""

    mounts: list[Path]
    reader: Path
    control: Path

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """One request to the control socket."""
        connection = _Connection(self.control)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise LabFailed(data.decode())
        return json.loads(data) if data else None

    def counters(self) -> dict[str, int]:
        """Operations by kind and bytes since the last reset."""
        found: dict[str, int] = self.ask("GET", "/counters")
        return found

    def at_no_cost(self) -> None:
        """No latency and no cap from now on: for reading the result."""
        self.ask("POST", "/profile?name=none")


def calibration(name: str) -> dict[str, Any]:
    """The parameters of a calibration, as the simulation reads them.

    ``modern/8`` is ``modern`` in a time that passes eight times as slowly: every latency is eight times as long, every
    cap an eighth, and what a kernel remembers lasts eight times as long, so that the processors of a small machine,
    which tools and simulation share, do not bind.
    """
    plain, _, slower = name.partition("/")
    found: dict[str, Any] = json.loads((HERE / "efslab/profiles" / f"{plain}.json").read_text())
    return _slower(found, int(slower)) if slower else found


def _slower(profile: dict[str, Any], times: int) -> dict[str, Any]:
    scaled = dict(profile)
    for name, value in profile.items():
        if name.endswith("_mib_per_second"):
            scaled[name] = value / times
        elif name.endswith("_milliseconds_per_mib"):
            scaled[name] = value * times
    scaled["remembered_seconds"] = times * REMEMBERED_SECONDS
    scaled["milliseconds"] = {name: value * times for name, value in profile["milliseconds"].items()}
    return scaled


@contextmanager
def running(profile: str, clients: int, scratch: Path, memory_mib: int) -> Iterator[Lab]:
    """A fresh, empty file system with so many clients, unmounted at the end."""
    mounts = [scratch / f"client{number}" for number in range(clients + 1)]
    for mount in mounts:
        mount.mkdir(parents=True, exist_ok=True)
    control, calibrated = scratch / "control.sock", scratch / "profile.json"
    calibrated.write_text(json.dumps(calibration(profile)))
    command = [str(BINARY), "-profile", str(calibrated), "-control", str(control)]
    command += ["-memory", str(MEMORY), "-memory-mib", str(memory_mib), *map(str, mounts)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise LabFailed(f"{' '.join(command)}: {process.stdout.read()}")
        yield Lab(mounts[:-1], mounts[-1], control)
    finally:
        process.terminate()
        try:
            process.wait(_START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for mount in mounts:
            _unmount(mount)
        MEMORY.unlink(missing_ok=True)


def _unmount(mount: Path) -> None:
    for _ in range(20):
        if f" {mount} " not in Path("/proc/mounts").read_text():
            return
        subprocess.run(["umount", "--lazy", str(mount)], check=False, capture_output=True)
        time.sleep(0.1)
