"""Versions below a mount."""

from __future__ import annotations

from pathlib import Path

from fanout.adapters.posix.tree import PosixTree
from tests.support.mounts import writable


def tree_of(mount: Path, run_id: str) -> PosixTree:
    return writable(PosixTree(mount, f"site/versions/{run_id}", run_id, "attempt", stages_at="site/versions/"))
