"""A local user at work at the root of a mounted destination: when scripts draw him, and what he must not get done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.forgers import FORGERIES, KEPT_IN
from tests.adversary.scope import Finding
from tests.adversary.script import S3_TO_MOUNT, STAGING, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault
from tests.adversary.thieves import WORDS, is_thieves


def with_thieves(draw: Random, direction: str, acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """The acts with a local user at work at operations of the first run, now and then."""
    if direction not in (S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS) or draw.random() > 0.12 or acts[0].what != "run":
        return acts
    faults = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        change = Change(draw.choice(WORDS), "", draw.randrange(10**6), "destination")
        kind = draw.choice(("any", "os:open", "os:mkdir", "os:pwrite", "os:rename", "copy/any", "finish/any"))
        faults.append(Fault(kind, soon(draw, 200), "change", draw.random() < 0.5, change=change))
    return (replace(acts[0], faults=(*acts[0].faults, *faults)), *acts[1:])


def judge_thieves(root: Path) -> Iterator[Finding]:
    """What a local user read, what he put into the tree, and what a run removed for him."""
    for posed in (root.parent / "attic").glob(f"{STAGING}posed-*"):
        if not (root / posed.name / "deep/thesis").is_file():
            yield Finding("removed for a local user", f"{posed.name} of another user is gone")
    for above, directories, names in os.walk(root):
        here = Path(above)
        is_staging = here != root and here.relative_to(root).parts[0].startswith(STAGING)
        if is_staging and "posed-" in here.relative_to(root).parts[0]:
            directories.clear()
        elif is_staging and is_thieves(root / here.relative_to(root).parts[0]):
            for name in names:
                if (here / name).lstat().st_size:
                    yield Finding("read by a local user", f"{here / name} was staged in a directory of his")
        elif not is_staging:
            for name in directories if here == root else (*directories, *names):  # files of the root he may forge
                if not name.startswith(STAGING) and is_thieves(here / name):
                    yield Finding("forged by a local user", f"{here / name} is his")


def with_forgers(draw: Random, direction: str, acts: tuple[Act, ...]) -> tuple[Act, ...]:
    """The acts with such a deed at operations of the first run, now and then."""
    if os.geteuid() or direction not in (S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS) or acts[0].what != "run":
        return acts
    if draw.random() > 0.2:
        return acts
    faults = []
    for _ in range(draw.choice((1, 1, 2))):
        change = Change(draw.choice(FORGERIES), "", draw.randrange(10**6), "destination")
        kind = draw.choice(("any", "os:link", "os:rename", "os:mkdir", "copy/any", "finish/any", "delete/any"))
        faults.append(Fault(kind, soon(draw, 200), "change", draw.random() < 0.5, change=change))
    return (replace(acts[0], faults=(*acts[0].faults, *faults)), *acts[1:])


def judge_forgers(root: Path) -> Iterator[Finding]:
    """What a run put into a directory of his among the backups, or linked below the root as another's."""
    for place in sorted((root.parent / KEPT_IN).iterdir()) if (root.parent / KEPT_IN).is_dir() else ():
        paths = [Path(above, name) for above, _, names in os.walk(place) for name in names]
        for path in paths if is_thieves(place) else ():
            if not is_thieves(path):
                yield Finding("read by a local user", f"{path} is kept in a directory of his")
    for above, directories, names in os.walk(root):
        directories[:] = [one for one in directories if not one.startswith(STAGING)]
        for path in [Path(above, name) for name in names if Path(above) != root]:
            if is_thieves(path):
                yield Finding("forged by a local user", f"{path} is his")
