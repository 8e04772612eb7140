"""Entries of another kind in the way of the source's, and a sync that replaces them."""

from __future__ import annotations

from random import Random
from typing import Any

from msgspec.structs import replace

from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, Spec
from tests.adversary.trees import Snapshot, Version

# What the request refuses together with it.
_NOT_WITH = frozenset(
    {"backup_to", "include", "exclude", "max_size", "min_size", "newer_than", "older_than", "modified_after"}
)


def draw_kinds(
    draw: Random, direction: str, source: tuple[Spec, ...], destination: tuple[Spec, ...], options: dict[str, Any]
) -> tuple[Spec, ...]:
    """The destination, in a fifth of the syncs with other kinds in the way; most of these requests replace them."""
    fits = options.get("mode") == "sync" and direction not in (MOUNT_TO_S3, INSIDE_S3)
    if draw.random() >= 0.2 or not fits or options.keys() & _NOT_WITH:
        return destination
    if draw.random() < 0.8:
        options["other_kind"] = "replace"
    turned: list[Spec] = []
    for spec in source:
        name = spec.path.rstrip("/")
        if (
            draw.random() >= 0.3
            or "\udcff" in name
            or "//" in name
            or any(part in ("", ".", "..") for part in name.split("/"))
        ):
            continue
        if spec.kind == "directory" and draw.random() < 0.6:
            turned.append(Spec(name, draw.choice(("file", "symlink")), size=9, seed=draw.randrange(1, 99), target="x"))
        elif spec.kind in ("file", "symlink"):
            turned += [Spec(name, "directory", mode=0o755), Spec(f"{name}/in", size=draw.randrange(99), seed=3)]
            turned += [Spec(f"{name}/deep", "directory", mode=0o750), Spec(f"{name}/deep/in", size=5, seed=4)]
    taken = {spec.path for spec in turned if spec.kind != "directory"}
    ways = {f"{spec.path}/" for spec in turned if spec.path in taken}
    kept = [one for one in destination if one.path.rstrip("/") not in {spec.path for spec in turned}]
    kept = [one for one in kept if not any(one.path.startswith(way) for way in ways)]
    return tuple(
        replace(one, uid=0, gid=0) for one in turned if not any(one.path.startswith(way) for way in ways)
    ) + tuple(kept)


def is_replaced(options: dict[str, Any], path: str, there: Version, window: list[Snapshot]) -> bool:
    """Whether an entry may go because the source had another kind in its place at some moment."""
    if options.get("other_kind") != "replace":
        return False
    plain = path.rstrip("/")
    names = plain.split("/")
    for tree in window:
        above = any("/".join(names[:count]) in tree for count in range(1, len(names)))
        is_other = (plain in tree) if there.kind == "directory" else any(one.startswith(f"{plain}/") for one in tree)
        if above or is_other:
            return True
    return False
