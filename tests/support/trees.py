"""What a tree on a disk holds, for comparing two of them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any


def described(root: Path) -> dict[str, Any]:
    """Every entry below a root: kind and mode, owner, mtime, content or target, and which names are one file."""
    found: dict[str, Any] = {}
    first_names: dict[int, str] = {}
    for directory, names, files in sorted(os.walk(root)):
        for name in sorted(names + files):
            path = Path(directory) / name
            seen = path.lstat()
            content: Any = None
            if stat.S_ISLNK(seen.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(seen.st_mode):
                content = path.read_bytes()
            relative = os.fsdecode(path.relative_to(root))
            one_with = first_names.setdefault(seen.st_ino, relative)
            found[relative] = (seen.st_mode, seen.st_uid, seen.st_gid, seen.st_mtime_ns, content, one_with)
    return found
