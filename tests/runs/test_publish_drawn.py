"""Versions that are published, touched, rolled back to and published again, as a seed draws it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random

import pytest

from tests.runs.test_publish import drop, put, world
from tests.support.publishing import REQUEST, PublishingWorld, held, rollback_to

__all__ = ["world"]
_NAMES = ("a.txt", "d/b.txt", "d/e/c.txt", "n.txt", "d/m.txt")
_STEPS = 14


def touched(draw: Random, versions: Path) -> None:
    """Somebody changes a file of some version, and puts back whatever can be put back but its ctime."""
    files = [path for path in sorted(versions.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    if not files:
        return
    path = draw.choice(files)
    time.sleep(0.02)  # a ctime moves with the kernel's clock, every few milliseconds
    seen = path.stat()
    if draw.random() < 0.5:
        path.write_bytes(b"?" * seen.st_size)
    else:  # another file takes its place, older than any seal
        other = path.with_name(".other")
        other.write_bytes(b"?" * seen.st_size)
        other.chmod(seen.st_mode & 0o7777)
        other.rename(path)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


def step(draw: Random, world: PublishingWorld, number: int) -> PublishingWorld:
    """One thing that happens; returns the world of the run that did, if one did."""
    versions = world.mount / "site/versions"
    published = [name for name in os.listdir(versions) if not name.startswith(".")]
    chance, name = draw.random(), draw.choice(_NAMES)
    if chance < 0.2:
        put(world, name, draw.choice("xyz"))
    elif chance < 0.25 and len(world.source.contents()) > 2 and name in world.source.contents():  # type: ignore[attr-defined]
        drop(world, name)
    elif chance < 0.55:
        touched(draw, versions)
    elif chance < 0.65:  # a run that is stopped before it publishes
        world = world.following(f"stopped-{number}")
        world.list_all(world.plan({**REQUEST, "publish": {**REQUEST["publish"], "keep": draw.randint(1, 4)}}))
        world.copy_all()
    elif chance < 0.75:
        noted = [name for name in published if (versions / f".published-{name}").exists()]
        world = world.following(f"back-{number}")
        world.publish(rollback_to(draw.choice(noted)))
    else:
        world = world.following(f"v{number}")
        world.publish({**REQUEST, "publish": {**REQUEST["publish"], "keep": draw.randint(1, 4)}})
        assert held(world.current) == contents(world)
    return world


def contents(world: PublishingWorld) -> dict[str, str]:
    """What the source holds."""
    return {path: one.data.decode() for path, one in world.source.contents().items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_published_is_what_the_source_holds_whatever_somebody_did_to_versions(
    world: PublishingWorld, seed: int
) -> None:
    draw = Random(seed)
    world.publish()
    for number in range(2, _STEPS):
        world = step(draw, world, number)
    world.following("last").publish()
    assert held(world.current) == contents(world)
