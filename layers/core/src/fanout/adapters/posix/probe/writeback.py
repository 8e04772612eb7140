"""Counts the writes that the kernel's NFS client sends later: ``close`` waits for them and shows nothing else."""

from __future__ import annotations

from pathlib import Path

_STATISTICS = Path("/proc/self/mountstats")
_WRITES = "WRITE:"


def writes_answered(statistics: Path = _STATISTICS) -> int:
    """How many writes the servers of all NFS mounts have answered; 0 where the kernel does not say."""
    try:
        lines = statistics.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return 0
    words = [line.split(maxsplit=2) for line in lines if _WRITES in line]
    return sum(int(found[1]) for found in words if len(found) > 1 and found[0] == _WRITES and found[1].isdecimal())
