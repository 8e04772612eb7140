"""Trees with private directories, and runs that are stopped."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from tests.support.flow import World


def modes(root: Path) -> dict[str, int]:
    found = {path for path in root.rglob("*") if path.is_dir() and not path.is_symlink()}
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in found}


def stopped(world: World, request: Any) -> None:
    """A run that is stopped when everything is copied, and nothing finished."""
    world.list_all(world.plan(request))
    world.copy_all()
