"""A local user who may write to the root of a mounted destination: he swaps, renames and poses as what runs stage in.

He is another user than the functions', and has no right but that to the root: what he could do with the names in it is
done for him, what he reads and writes is his own.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from tests.adversary.script import STAGING

THIEF, VICTIM = 12_345, 12_346
SWAP, RENAME, POSE = "swap-staging", "rename-staging", "pose-as-staging"
WORDS = (SWAP, SWAP, RENAME, POSE)


def is_thieves(path: Path) -> bool:
    """Whether the local user made it, or owns it."""
    with suppress(OSError):
        return path.lstat().st_uid in (THIEF, VICTIM)
    return False


def steal(what: str, root: Path, seed: int) -> None:
    """One deed at the root of the destination. Nothing where the user is not another one than the functions'."""
    if os.geteuid() != 0:
        return
    if what == POSE:
        _pose(root, seed)
        return
    for number, name in enumerate(sorted(os.listdir(root))):
        taken, staging = root / f"{STAGING}taken-{seed}-{number}", root / name
        if not name.startswith(STAGING) or "taken-" in name or is_thieves(staging) or not staging.is_dir():
            continue
        staging.rename(taken)
        if what == SWAP:
            for above, _, _ in os.walk(taken):
                _make(staging / Path(above).relative_to(taken))
            for one in ("big", "big/forged"):
                _make(staging / one)


def _make(directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    os.chown(directory, THIEF, THIEF)
    directory.chmod(0o777)


def _pose(root: Path, seed: int) -> None:
    """A directory of another user, whom he may not delete for, gets the name of a staging directory."""
    posing = root / f"{STAGING}posed-{seed}"
    (posing / "deep").mkdir(parents=True)
    (posing / "deep/thesis").write_bytes(b"years of work")
    for one in (posing, posing / "deep", posing / "deep/thesis"):
        os.chown(one, VICTIM, VICTIM)
    posing.chmod(0o700)
    (root.parent / "attic" / posing.name).mkdir(exist_ok=True)
