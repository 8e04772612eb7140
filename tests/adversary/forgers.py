"""A local user who may write to the destination's root, and to the directory of backups, forges and poses there.

He puts a file of his own in the place of each one in the root, with its size and time. And he makes the directory in
which a run is to keep what it replaces, or moves it away and makes one of its name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.adversary.script import STAGING, bytes_of
from tests.adversary.thieves import THIEF, is_thieves

FORGE, POSE_AS_KEPT = "forge", "pose-as-kept"
FORGERIES = (FORGE, POSE_AS_KEPT)
KEPT_IN = "kept"
_TAKEN = ".taken"


def forge(root: Path, seed: int) -> None:
    """Files of the root; each that he forged is noted beside it, in the attic."""
    for path in sorted(root.iterdir()):
        if path.is_symlink() or not path.is_file() or is_thieves(path):
            continue
        seen, forged = path.stat(), root.parent / "attic" / f"forged-{seed}"
        forged.write_bytes(bytes_of(seed + 1, seen.st_size))
        os.utime(forged, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        os.chown(forged, THIEF, THIEF)
        forged.rename(path)


def pose_as_kept(root: Path) -> None:
    """The directories of the tree, for anybody, in the place of the backup of each run that stages at the root."""
    kept = root.parent / KEPT_IN
    kept.mkdir(exist_ok=True)
    os.chown(kept, THIEF, THIEF)
    kept.chmod(0o755)
    below = [Path(above).relative_to(root) for above, _, _ in os.walk(root) if STAGING not in above]
    for name in [one.removeprefix(STAGING) for one in sorted(os.listdir(root)) if one.startswith(STAGING)]:
        place = kept / name
        if is_thieves(place) or (kept / f"{name}{_TAKEN}").exists():
            continue
        with suppress(FileNotFoundError):
            place.rename(f"{place}{_TAKEN}")
        for one in below:
            (place / one).mkdir(parents=True, exist_ok=True)
            os.chown(place / one, THIEF, THIEF)
            (place / one).chmod(0o777)


def backups_of(kept: Path, run: str) -> Iterator[tuple[Path, str]]:
    """The directories in which runs kept something, wherever he moved them, and what paths in them begin with."""
    for place in sorted(kept.iterdir()) if kept.is_dir() else ():
        name = place.name.removesuffix(_TAKEN)
        if run in ("", name) and not is_thieves(place):
            yield place, "" if run else f"{name}/"
