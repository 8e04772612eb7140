"""One measurement: a fresh file system, cold caches, one tool, the result compared byte by byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import engine
from benchmarks.lab import running
from benchmarks.memory import PeakMemory
from benchmarks.peers import Peer, shell_command

OPERATIONS = (
    "lookup", "getattr", "access", "setattr", "create", "open", "mkdir", "symlink", "link", "rename", "unlink",
    "rmdir", "readdir", "read", "write", "commit", "close",
)  # fmt: skip


class ResultDiffers(Exception):
    """A tool did not copy what it should have."""


@dataclass(frozen=True)
class Source:
    """A data set on this machine."""

    root: Path
    files: int
    bytes: int


@dataclass(frozen=True)
class Sample:
    """What one run of one tool took; ``busy_seconds`` are of all processors, the simulation's included."""

    seconds: float
    seconds_around: float
    peak_rss_mb: float
    operations: dict[str, int] = field(default_factory=dict)
    busy_seconds: float = 0.0


def measure(tool: Peer | None, source: Source, profile: str, workers: int, scratch: Path) -> Sample:
    """Run a peer, or ours if ``tool`` is None. Raises if the result is not the source."""
    shutil.rmtree(scratch / "work", ignore_errors=True)
    work = scratch / "work"
    work.mkdir(parents=True)
    memory_mib = source.bytes // (1 << 20) + source.files // 20 + 64
    drop_caches()
    with running(profile, workers, scratch / "mounts", memory_mib) as lab:
        destination = lab.mounts[0] / "copy"
        busy = _busy_seconds()
        if tool is None:
            run = engine.copy_tree(source.root, lab.mounts, work)
            seconds, around, peak = run.seconds, run.seconds_around, run.peak_rss_mb
        else:
            destination.mkdir()
            lab.ask("POST", "/reset")
            seconds, peak = _run(tool, source.root, destination, work)
            around = 0.0
        busy = _busy_seconds() - busy
        counted = lab.counters()
        lab.at_no_cost()
        compare(source.root, lab.reader / "copy")
    return Sample(seconds, around, peak, {name: counted[name] for name in OPERATIONS if counted[name]}, busy)


def _busy_seconds() -> float:
    """Seconds that all processors worked since the machine started, whatever for."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def drop_caches() -> None:
    """Forget what the kernel keeps of files. Needs root; without it the source is in memory for all tools alike."""
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except PermissionError:
        return


def _run(tool: Peer, source: Path, destination: Path, work: Path) -> tuple[float, float]:
    began = time.monotonic()
    process = subprocess.Popen(shell_command(tool, source, destination, work), stdout=subprocess.DEVNULL)
    with PeakMemory([process.pid]) as peak:
        process.wait()
        seconds = time.monotonic() - began
    if process.returncode:
        raise ResultDiffers(f"{tool.name} ended with {process.returncode}")
    return seconds, peak.mb


def compare(source: Path, result: Path) -> None:
    """Raise ``ResultDiffers`` where one tree is not the other, byte for byte."""
    found = subprocess.run(
        ["diff", "--recursive", "--brief", str(source), str(result)], capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise ResultDiffers((found.stdout or found.stderr)[:500])
