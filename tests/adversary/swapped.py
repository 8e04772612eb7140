"""A local user who swaps directories: when scripts draw him, and what he must not get done.

He does so after the listing: what a listing sees under a name is the run's, whatever it was before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.deeds import soon
from tests.adversary.leftovers import is_closed, judge_leftovers
from tests.adversary.scope import Finding
from tests.adversary.script import S3_TO_MOUNT, TWO_MOUNTS, WITHIN_MOUNT, Act, Change, Fault, Spec
from tests.adversary.swappers import PAY, PRIVATE, SWAP_PRIVATE, is_directory


def with_swappers(
    draw: Random, direction: str, source: tuple[Spec, ...], options: dict[str, Any], acts: tuple[Act, ...]
) -> tuple[Act, ...]:
    """The acts with him at work while the first run copies or finishes, now and then."""
    names = sorted({above for spec in source for above in _above(spec)})
    mounted = direction in (S3_TO_MOUNT, WITHIN_MOUNT, TWO_MOUNTS) and "publish" not in options
    meanwhile = any(fault.acts for fault in acts[0].faults)  # another run lists what he has put there
    if not mounted or not names or draw.random() > 0.12 or acts[0].what != "run" or meanwhile:
        return acts
    change = Change(SWAP_PRIVATE, draw.choice(names), draw.randrange(10**6), "destination")
    copies = "unpack/any" if direction == TWO_MOUNTS else "copy/any"
    kind = draw.choice((copies, copies, "finish/any"))
    fault = Fault(kind, soon(draw, 120), "change", draw.random() < 0.5, change=change)
    return (replace(acts[0], faults=(*acts[0].faults, fault)), *acts[1:])


def _above(spec: Spec) -> Iterator[str]:
    parts = spec.path.split("/")
    if all(part not in ("", ".", "..") and part.isascii() for part in parts):
        yield from ("/".join(parts[:end]) for end in range(1, len(parts)))
        if spec.kind == "directory":
            yield spec.path


def swapped_paths(root: Path) -> list[str]:
    """The names that have another directory, since the last judgement."""
    return [(one / "name").read_text() for one in (root.parent / "attic").glob("swapped-*")]


def judge_swapped(root: Path) -> Iterator[Finding]:
    """Whether a run gave a private directory anything; then the names are right again."""
    yield from judge_leftovers(root)
    for aside in (root.parent / "attic").glob("swapped-*"):
        seed = aside.name.removeprefix("swapped-")
        for above, _, names in os.walk(root):
            if f"{PAY}{seed}" in names:
                found, private = os.stat(above), Path(above)
                if (found.st_mode & 0o7777, found.st_uid) != (PRIVATE, 0):
                    is_now = f"has mode {found.st_mode & 0o7777:04o}, owner {found.st_uid}"
                    yield Finding("opened for a local user", f"{private}, which is private, {is_now}")
                private.rename(aside / "private")
                _names_again(aside, f"{PAY}{seed}")
                if root.stat().st_uid:
                    _follow_remedy(Path((aside / "name").read_text()))
                break
        aside.rename(root.parent / "attic" / f"judged-{seed}")


def _names_again(aside: Path, pay: str) -> None:
    """The directory that was taken gets its name again, and in it is what came into the private one: a move needs it.

    Who takes it away has deleted what the move has moved, however deep that is, and whatever else has its name.
    """
    place, private = Path((aside / "name").read_text()), aside / "private"
    (private / pay).rename(aside / pay)
    if (aside / "taken").exists() and not os.path.lexists(place):
        (aside / "taken").rename(place)
    if os.listdir(private) and place.parent.is_dir() and not os.path.lexists(place):
        place.mkdir(PRIVATE)  # no wider than it may be: nobody else has opened it
    if is_directory(place):
        _give_back(private, place, aside)


def _give_back(came: Path, place: Path, aside: Path) -> None:
    """Everything of one directory comes into another, and what has its name there goes aside."""
    for one in sorted(came.iterdir()):
        there = place / one.name
        if is_directory(one) and is_directory(there):
            _give_back(one, there, aside)
            continue
        if os.path.lexists(there):
            there.rename(aside / f"replaced-{len(os.listdir(aside))}")
        one.rename(there)


def _follow_remedy(place: Path) -> None:
    """Somebody looks at what is closed at a root of a local user, and gives it a mode: no run opens it there.

    That is the remedy of "destination changed"; where only the run may rename, the next run finishes it.
    """
    for above, _, _ in os.walk(place):
        if is_closed(os.lstat(above)):
            Path(above).chmod(PRIVATE)
