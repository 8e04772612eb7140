"""Sequences in which an operator does what the remedy of a failure says, and then retries.

A run that follows must look at what is there: what the operator deletes at the destination counts as gone, and is no
change that the oracle excuses.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.adversary.deeds import soon
from tests.adversary.script import (
    INSIDE_S3,
    MOUNT_TO_S3,
    S3_TO_MOUNT,
    TWO_MOUNTS,
    WITHIN_MOUNT,
    Act,
    Change,
    Fault,
    Spec,
)

# The run after the remedy: nothing goes wrong in it.
RETRIED = "retried"
_MANY = 1000
Acts = tuple[Act, ...]


def remedied(
    draw: Random, direction: str, ends: tuple[tuple[Spec, ...], tuple[Spec, ...]], options: dict[str, Any], acts: Acts
) -> Acts:
    """Draw such a sequence in place of ``acts``, now and then, where the request can be retried.

    A retry leaves again what ``overwrite`` left, and in a bucket it replaces what the first listing saw: what is freed
    there is new (docs/understand/stopped-runs.md). A move deletes what it copied at the source, so of its copies the
    operator frees none.
    """
    chance, wait = draw.random(), Act("wait", seconds=draw.randint(5, 30))
    holds_old = direction in (MOUNT_TO_S3, INSIDE_S3) or "overwrite" in options
    old = {spec.path for spec in ends[1]} if holds_old else set()
    files = [spec.path for spec in ends[0] if spec.kind == "file" and spec.path not in old]
    if options.keys() & {"include", "exclude"}:  # a name that is left out may be one of a file that is not
        old |= {spec.target for spec in ends[0] if spec.kind == "link"}
        files = [path for path in files if path not in old]
    mode = options.get("mode", "copy")
    if chance > 0.12 or mode not in ("copy", "move") or not files:
        return acts
    fault, deeds = draw.choice(REMEDIES[direction])(draw, files)
    if mode == "move":
        own = {spec.path for spec in ends[0]}
        deeds = [deed for deed in deeds if deed.what != "free" or deed.path not in own]
    followed = (Act("change", change=deed) for deed in deeds)
    retried = Act("run", RETRIED, {"resume_from": "r1"})
    return (Act("run", "r1", faults=(fault,)), wait, *followed, wait, retried, wait, Act("run", "last"))


Deeds = tuple[Fault, list[Change]]


def _no_space(draw: Random, files: list[str]) -> Deeds:
    """No space at the destination: free space, then retry; copies of this run are deleted too."""
    freed = [Change("free", path, end="destination") for path in draw.sample(files, draw.randint(1, len(files)))]
    kind = draw.choice(("os:pwrite", "os:create"))
    return Fault(kind, soon(draw, 20), draw.choice(("ENOSPC", "EDQUOT")), times=_MANY), freed


def _no_space_for_packs(draw: Random, files: list[str]) -> Deeds:
    """The same between two mounts, where a retry takes over without a look: what is freed is the destination's own."""
    fault, _ = _no_space(draw, files)
    return fault, [Change("free", "extra0", end="destination"), Change("free", "old", end="destination")]


def _unreadable(draw: Random, files: list[str]) -> Deeds:
    """Source cannot be read: give the function permission on the entry, then retry."""
    path = draw.choice(files)
    return Fault("os:open", 1, "EACCES", times=10**9, path=f"in/{path}"), [Change("chmod", path, draw.randrange(2))]


def _forbidden(draw: Random, files: list[str]) -> Deeds:
    """Source cannot be read, of objects; the deed is done outside both trees."""
    return Fault("copy/s3:GetObject", soon(draw, 3), "S3: 403", times=_MANY), []


def _unwritable(draw: Random, files: list[str]) -> Deeds:
    """Destination cannot be written: give the function permission, then retry."""
    return Fault(draw.choice(("os:create", "os:rename")), soon(draw, 20), "EACCES", times=_MANY), []


def _lost_in_bucket(draw: Random, files: list[str]) -> Deeds:
    """Writes to a bucket that are refused; meanwhile somebody cleans up there."""
    freed = [Change("free", path, end="destination") for path in draw.sample(files, draw.randint(1, len(files)))]
    kind = draw.choice(("s3:PutObject", "s3:CopyObject", "s3:CompleteMultipartUpload"))
    return Fault(kind, soon(draw, 6), "S3: 403", times=_MANY), freed


REMEDIES: dict[str, tuple[Callable[[Random, list[str]], Deeds], ...]] = {
    S3_TO_MOUNT: (_no_space, _no_space, _forbidden, _unwritable),
    MOUNT_TO_S3: (_unreadable, _unreadable, _lost_in_bucket),
    WITHIN_MOUNT: (_no_space, _no_space, _unreadable, _unwritable),
    TWO_MOUNTS: (_no_space_for_packs, _unreadable, _unwritable),
    INSIDE_S3: (_lost_in_bucket,),
}
