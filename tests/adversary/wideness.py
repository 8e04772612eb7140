"""What the oracle says of modes while a run goes on.

Of a directory only the bits of others count: a key ``x/`` may say 0644, and its directory has 1700 until FinishTree.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tests.adversary.beforehand import opened_vault
from tests.adversary.scope import Finding
from tests.adversary.script import STAGING
from tests.adversary.thieves import is_thieves
from tests.adversary.trees import MountPlace, Snapshot

# A directory that waits for its own mode: closed, and the sticky bit says so (docs/understand/attributes.md).
UNFINISHED = 0o1700
# The same, of another user's directory that a run took before it put anything into it.
TAKEN = 0o5700


def allow(wide: dict[str, int], tree: Snapshot, implied: int = 0o755) -> None:
    """Add the modes of a tree to those that an entry may have; ``implied`` is that of a directory without object."""
    for path, version in tree.items():
        is_key = path.endswith("/") and version.kind != "directory"  # the directory above it is implied
        if version.kind == "symlink":
            wide[path] = 0o7777  # a symlink that is followed has the mode of what it leads to
        elif version.mode is None and version.kind == "file":
            wide[path] = wide.get(path, 0) | 0o644  # an object that says none
        elif version.mode is not None and not is_key:
            wide[path] = wide.get(path, 0) | version.mode
        for at in (at for at, sign in enumerate(path) if sign == "/" and (is_key or path[: at + 1] not in tree)):
            # A directory that keys imply and that has no object (docs/understand/attributes.md).
            wide[path[: at + 1]] = wide.get(path[: at + 1], 0) | 0o755 | implied


def too_wide(place: MountPlace, allowed: dict[str, int], touched: set[str]) -> Iterator[Finding]:
    """What is open wider than it ever was at the source, or at the destination before."""
    yield from (Finding("opened for a local user", text) for text in opened_vault(place.root))
    left = [(str(place.root), "")]
    while left:
        directory, prefix = left.pop()
        for entry in list(os.scandir(directory)):
            if entry.is_symlink():
                continue
            path = prefix + entry.name
            mode = stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode)
            if entry.is_dir(follow_symlinks=False):
                path += "/"
                without = mode & ~stat.S_ISGID  # which the kernel takes from above
                mode = 0o700 if without in (UNFINISHED, TAKEN) else mode
                if not prefix and entry.name.startswith(STAGING):
                    if mode & 0o077 and not is_thieves(Path(entry.path)):
                        yield Finding("staging open", f"{STAGING}* has mode {mode:04o}")
                    continue
                left.append((entry.path, path))
            most = allowed.get(path)
            if most is not None and path.endswith("/"):
                # The kernel hands the set-gid bit down.
                most |= stat.S_IRWXU | (os.lstat(directory).st_mode & stat.S_ISGID)
            if most is not None and mode & ~most and path not in touched:
                kind = "directory wider" if path.endswith("/") else "file wider"
                yield Finding(kind, f"{path!r} had mode {mode:04o}, at the source {most:04o}")
