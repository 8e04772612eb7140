"""The command ``fanout`` as a user runs it, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FANOUT = Path(sys.executable).with_name("fanout")


def fanout(*arguments: str | Path, timeout_seconds: float = 240) -> subprocess.CompletedProcess[str]:
    """Run it to its end, and return what it wrote."""
    return subprocess.run(
        [FANOUT, *map(str, arguments)], capture_output=True, text=True, timeout=timeout_seconds, check=False
    )
