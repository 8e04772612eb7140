"""Published trees within the roots of syncs and moves: drawn, and judged. Only a publishing run removes a version."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from fanout.request.parts.publish import PUBLISHER, VERSIONS
from tests.adversary.scope import Finding
from tests.adversary.script import INSIDE_S3, MOUNT_TO_S3, S3_TO_MOUNT, Spec
from tests.adversary.trees import Snapshot

Trees = tuple[tuple[Spec, ...], tuple[Spec, ...]]
_ROOTS = ("site/", "site/", "d0/site/", "")


def publish(draw: Random, direction: str, trees: Trees, options: dict[str, Any]) -> Trees:
    """The source and the destination, one of them with a published tree, where the request deletes on a mount."""
    source, destination = trees
    chance, made = draw.random(), _published(draw)
    if chance > 0.2:
        return trees
    if options.get("mode") == "sync" and direction not in (MOUNT_TO_S3, INSIDE_S3):
        return source, (*destination, *made)
    if options.get("mode") == "move" and direction not in (S3_TO_MOUNT, INSIDE_S3):
        return (*source, *made), destination
    return trees


def _published(draw: Random) -> tuple[Spec, ...]:
    root = draw.choice(_ROOTS)
    versions = f"{root}{VERSIONS}"
    made = [
        Spec(f"{versions}/{name}", size=size, seed=draw.randrange(1, 1000))
        for name, size in (("v1/a", 900), ("v1/d/b", 5), (".published-v1", 2), (PUBLISHER, 40))
    ]
    if draw.random() < 0.5:
        made.append(Spec(f"{versions}/v2/a", "link", target=made[0].path))
    return (*made, Spec(f"{root}current", "symlink", target=f"{VERSIONS}/v1"))


def paths_of_published(tree: Snapshot) -> set[str]:
    """What belongs to the published trees of a tree: their versions, notes and links."""
    found: set[str] = set()
    for note in [
        path for path in tree if path == f"{VERSIONS}/{PUBLISHER}" or path.endswith(f"/{VERSIONS}/{PUBLISHER}")
    ]:
        versions = note.removesuffix(PUBLISHER)
        above = versions.removesuffix(f"{VERSIONS}/")
        found |= {path for path in tree if path.startswith(versions)}
        found |= {
            path
            for path, one in tree.items()
            if one.kind == "symlink"
            and path.rpartition("/")[0] == above.rstrip("/")
            and one.data.startswith(b"versions/")
        }
    return found


def judge_published(run: str, before: Snapshot, after: Snapshot, touched: set[str]) -> Iterator[Finding]:
    """No run of the adversary publishes, so all that was published is still there."""
    gone = sorted(paths_of_published(before) - after.keys() - touched)
    if gone:
        yield Finding("published", f"run {run} deleted {gone} of a published tree")
