"""The most memory that a tool's processes held at once.

Sampled: a process that a harness starts begins with the harness's own peak, so what the kernel
keeps of it tells nothing. Proportional (PSS): what forked processes share counts once.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

_EVERY_SECONDS = 0.4


class PeakMemory:
    """Samples the processes ``roots`` and all below them while ``with`` lasts."""

    def __init__(self, roots: list[int]) -> None:
        self._roots = roots
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.mb = 0.0  # the largest sum of one sample

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_EVERY_SECONDS):
            self.mb = max(self.mb, memory_mb(self._roots))


def memory_mb(roots: list[int]) -> float:
    """What these processes and all below them hold now, in MB."""
    return sum(_pss_kib(process) for process in _tree(roots)) * 1024 / 1e6


def _tree(roots: list[int]) -> list[int]:
    found = list(roots)
    for process in found:
        found += _children(process)
    return found


def _children(process: int) -> list[int]:
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            found += map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split())
    except OSError:
        return found  # it has ended, or the thread has
    return found


def _pss_kib(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
