"""A local user owns the root of a mounted destination, and gives what is closed there the name of another directory.

A run that was stopped leaves directories closed, and one at work has them closed until its end. Whoever owns the root
renames them. Nothing of one may be opened under a name that it was not made for, and where he renames nothing every run
ends as it would elsewhere.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.scope import Finding
from tests.adversary.script import S3_TO_MOUNT, STAGING, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Spec
from tests.adversary.thieves import WORDS

GIVE, RENAME_CLOSED, RENAME_LEFT = "give-root", "rename-closed", "rename-left"
RENAMES = (RENAME_CLOSED, RENAME_LEFT)
OWNER = 12_347
_CLOSED = 0o1700
_ASIDE = "renamed-"
Acts = tuple[Act, ...]


def with_leftovers(
    draw: Random, direction: str, source: tuple[Spec, ...], options: Mapping[str, Any], acts: Acts
) -> Acts:
    """The acts at a root of his, now and then; and then he may be at work during the first run, or after it."""
    chance, works = draw.random(), draw.choice(("", "during", "after", "after", "both"))
    names = sorted({spec.path.split("/")[0] for spec in source if "/" in spec.path or spec.kind == "directory"})
    names = [name for name in names if name not in ("", ".", "..") and name.isascii()]
    mounted = direction in (S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS) and "publish" not in options
    # A retry whose ledger is broken ends before it finishes anything, and takes the marks of the run before with it.
    # Nor has a run any whose staging directory somebody took.
    taken = any(fault.change is not None and fault.change.what in WORDS for fault in acts[0].faults)
    damaged = taken or any(act.change is not None and act.change.end == "ledger" for act in acts)
    if not mounted or os.geteuid() or chance > 0.2 or acts[0].what != "run" or not names or damaged:
        return acts
    if any(fault.acts for fault in acts[0].faults) or options.get("mode") not in (None, "copy"):
        works = ""  # another run takes what he renamed for its own; what is moved is nowhere else
    changes = [Change(what, draw.choice(names), draw.randrange(10**6), "destination") for what in RENAMES]
    kind = draw.choice(("copy/any", "copy/any", "finish/any"))
    first = acts[0]
    if works in ("during", "both"):
        fault = Fault(kind, soon(draw, 120), "change", draw.random() < 0.5, change=changes[0])
        first = replace(first, faults=(*first.faults, fault))
    after = (Act("change", change=changes[1]), Act("run", "renamed")) if works in ("after", "both") else ()
    return (Act("change", change=Change(GIVE, "", end="destination")), first, *after, *acts[1:])


def give(root: Path, _path: Path, _seed: int) -> None:
    """The root is his, from the beginning."""
    if os.geteuid() == 0:
        root.mkdir(parents=True, exist_ok=True)
        os.chown(root, OWNER, OWNER)


def rename_closed(root: Path, path: Path, seed: int) -> None:
    """One of the directories at the root that are closed gets a name; what has that name goes aside."""
    names = [name for name in sorted(os.listdir(root)) if not name.startswith(STAGING) and name != path.name]
    _rename([name for name in names if is_closed((root / name).lstat())], path, seed)


def rename_left(root: Path, path: Path, seed: int) -> None:
    """The same of those that hold something: an empty one that a stopped run left is as good as a new one."""
    names = [name for name in sorted(os.listdir(root)) if not name.startswith(STAGING) and name != path.name]
    _rename([name for name in names if is_closed((root / name).lstat()) and os.listdir(root / name)], path, seed)


OWNED: dict[str, Callable[[Path, Path, int], None]] = {
    GIVE: give,
    RENAME_CLOSED: rename_closed,
    RENAME_LEFT: rename_left,
}


def _rename(closed: list[str], path: Path, seed: int) -> None:
    root = path.parent
    aside = root.parent / "attic" / f"{_ASIDE}{seed}"
    if os.geteuid() or not closed or aside.exists():
        return
    aside.mkdir()
    chosen = root / closed[seed % len(closed)]
    (aside / "inode").write_text(str(chosen.lstat().st_ino))
    (aside / "name").write_bytes(os.fsencode(path.name))
    if os.path.lexists(path):
        path.rename(aside / "taken")
    chosen.rename(path)


def is_closed(found: os.stat_result) -> bool:
    """Whether a directory is one that a run has not finished."""
    return stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) & 0o1777 == _CLOSED and found.st_uid == 0


def judge_leftovers(root: Path) -> Iterator[Finding]:
    """Whether a run opened what he renamed; then somebody looks, and removes what has a wrong name."""
    for aside in (root.parent / "attic").glob(f"{_ASIDE}*"):
        place = root / os.fsdecode((aside / "name").read_bytes())
        if os.path.lexists(place) and str(place.lstat().st_ino) == (aside / "inode").read_text():
            mode = stat.S_IMODE(place.lstat().st_mode)
            if mode & 0o077:
                yield Finding("opened for a local user", f"{place} was made for another path, and has mode {mode:04o}")
            place.rename(aside / "looked-at")
        taken = aside / "taken"
        if taken.exists() and not os.path.lexists(place) and not is_closed(taken.lstat()):  # he removes that too
            taken.rename(place)
        shutil.move(aside, f"{root.parent}/attic/looked-at-{aside.name}")
