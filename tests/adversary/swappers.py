"""A local user who may rename at the destination puts a private directory of somebody where the run has its own."""

from __future__ import annotations

import os
from pathlib import Path

SWAP_PRIVATE = "swap-private"
PAY, PRIVATE = "pay-", 0o700


def swap_private(attic: Path, path: Path, seed: int) -> None:
    """A private directory comes under a name; the directory that has it goes aside. Nothing for another entry."""
    aside = attic / f"swapped-{seed}"
    if aside.exists() or not path.parent.is_dir() or (os.path.lexists(path) and not is_directory(path)):
        return
    (aside / "private").mkdir(parents=True)
    (aside / "private" / f"{PAY}{seed}").write_bytes(b"salaries")
    (aside / "private").chmod(PRIVATE)
    (aside / "name").write_text(str(path))
    if path.exists():
        path.rename(aside / "taken")
    (aside / "private").rename(path)


def is_directory(path: Path) -> bool:
    """Whether a path is one, and no symlink to one."""
    return path.is_dir() and not path.is_symlink()
