"""Trees with private directories, and runs that are stopped."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.flow import World


def modes(root: Path) -> dict[str, int]:
    """The modes of the directories below a root; others may remove some meanwhile."""
    found = {}
    for place, names, _, descriptor in os.fwalk(root):
        for name in names:
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    found[os.path.relpath(os.path.join(place, name), root)] = stat.S_IMODE(status.st_mode)
    return found


def stopped(world: World, request: Any) -> None:
    """A run that is stopped when everything is copied, and nothing finished."""
    world.list_all(world.plan(request))
    world.copy_all()
