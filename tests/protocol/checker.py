"""The checker that `model/` is built into, as a command."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
CHECKER = REPO / ".fanout/model/release/fanout-model"


def build() -> bool:
    """Build it, if anything changed; whether it is there."""
    return subprocess.run([REPO / "scripts/setup-model.sh"], check=False).returncode == 0


def check(*arguments: str | Path) -> tuple[bool, str]:
    """Whether it found nothing wrong, and what it said."""
    ended = subprocess.run([CHECKER, *arguments], capture_output=True, text=True, check=False)
    return ended.returncode == 0, ended.stdout + ended.stderr


def hold(traces: Sequence[Path]) -> tuple[bool, str]:
    """Hold traces against the protocol."""
    return check("traces", *traces)
