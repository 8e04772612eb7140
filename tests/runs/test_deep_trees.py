"""1,000 levels through every mode, by a stack and a number of descriptors that do not grow with them."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanout.adapters.posix.paths.directories import Directories
from fanout.adapters.posix.removal import remove_tree
from fanout.adapters.posix.tree import PosixTree
from fanout.facts import aws, tuning
from fanout.finishing.finish_tree import finish_tree
from tests.runs.deep_trees import chain, down, made, write
from tests.support.flow import World
from tests.support.mounts import REQUEST, reasons, world_of
from tests.support.two_mounts import TwoMounts

LEVELS = aws.DIRECTORY_DEPTH - 1  # and a file in the last one
SYNC = {**REQUEST, "mode": "sync", "delete_guard": {"max_percent": 90.0}}


@pytest.fixture
def mount() -> Iterator[Path]:
    """A directory whose removal needs no deep stack, unlike that of pytest's."""
    path = Path(tempfile.mkdtemp())
    descriptors = len(os.listdir("/proc/self/fd"))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors + 700, limit[1]))
    try:
        yield path
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        above = os.open(path.parent, os.O_RDONLY)
        remove_tree(above, path.name)
        os.close(above)


@pytest.fixture
def names() -> list[str]:
    """Together longer than a path that the kernel takes at once."""
    return chain(LEVELS, 5)


def totals(summary: Any) -> dict[str, int]:
    assert summary["status"] == "SUCCEEDED", summary
    return {name: count["entries"] for name, count in summary["totals"].items() if count["entries"]}


def ran(world: World, request: Any) -> dict[str, int]:
    """What became of the entries of a whole run."""
    found = totals(world.run(request))
    close(world)
    return found


def close(*worlds: World) -> None:
    for world in worlds:
        world.source.close()
        world.destination.close()


def test_a_deep_tree_is_copied_found_unchanged_verified_and_deleted(
    mount: Path, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made(mount / "in", names, "f", "g")
    entries = LEVELS + 2
    found = ran(world_of(mount), {**REQUEST, "verify": "all"})
    assert (found["copied"], found["listed"]) == (entries, entries)
    with down(mount / "out", names) as [here]:
        assert sorted(os.listdir(here)) == ["f", "g"]
        assert os.stat("f", dir_fd=here).st_size == len("content of f")
        write(here, "old", "an extra")
        for name in names[:3]:
            os.mkdir(name, dir_fd=here)
    monkeypatch.setattr("fanout.listing.deciding.decisions.MARGIN_NS", -(10**18))
    assert ran(world_of(mount, "run-2"), REQUEST)["unchanged"] >= entries - 1
    assert ran(world_of(mount, "run-3"), SYNC)["deleted"] == 4
    assert ran(world_of(mount, "run-4"), {**REQUEST, "mode": "verify"})["unchanged"] == entries


def test_a_deep_tree_that_the_source_lacks_is_deleted(mount: Path, names: list[str]) -> None:
    for root in ("in", "out"):
        made(mount / root, [], *(f"keep{number}" for number in range(3)))
    made(mount / "out", ["old", *names[1:]], "f", "g")
    world = world_of(mount)
    assert totals(world.run({**SYNC, "delete_guard": {"max_percent": 100.0}}))["deleted"] == LEVELS + 2
    assert sorted(path.name for path in (mount / "out").iterdir()) == ["keep0", "keep1", "keep2"]
    close(world)


def test_a_deep_tree_is_resumed_where_a_run_was_stopped(mount: Path, names: list[str]) -> None:
    made(mount / "in", names, "f", "g")
    first = world_of(mount)
    first.list_all(first.plan(REQUEST))
    close(first)
    second = world_of(mount, "run-2")
    second.store, second.clock, second.nonces = first.store, first.clock, first.nonces
    assert totals(second.run({"resume_from": "run-1"}))["copied"] == LEVELS + 2
    close(second)


def test_a_deep_tree_is_copied_between_two_mounts(mount: Path, names: list[str]) -> None:
    mounts = TwoMounts(mount)
    made(mounts.source_root, names, "f", "g")
    assert totals(mounts.run({"verify": "all"}))["copied"] == LEVELS + 2
    close(mounts.world)


def test_a_deep_tree_is_listed_in_many_cuts(mount: Path, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made(mount / "in", names, "f", "g")
    monkeypatch.setattr(tuning, "SEGMENT_ENTRIES", 300)
    world = world_of(mount)
    assert totals(world.run(REQUEST))["copied"] == LEVELS + 2
    close(world)


def test_symlinks_at_the_bottom_of_a_deep_tree_are_followed(mount: Path, names: list[str]) -> None:
    names = names[:-2]
    made(mount / "in", names, "f")
    with down(mount / "in", names) as [here]:
        os.mkdir("real", dir_fd=here)
        with down(mount / "in", [*names, "real"]) as [real]:
            write(real, "g", "content of g")
        for name, target in {"link": "f", "up": "../" + names[-1] + "/f", "dir": "real", "loop": ".."}.items():
            os.symlink(target, name, dir_fd=here)
        os.symlink("/".join([".."] * (len(names) + 1)) + "/etc", "out", dir_fd=here)
    world = world_of(mount)
    world.source = PosixTree(mount, "in", "run-1", "source", "source", follow=True)
    summary = world.run({**REQUEST, "symlinks": "follow"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    found = {path.rpartition("/")[2]: reason for path, reason in reasons(world).items()}
    assert found == {
        "loop": "symlink that leads back to a directory above it",
        "out": "symlink that leads out of the source",
    }
    with down(mount / "out", names) as [here]:
        assert sorted(os.listdir(here)) == ["dir", "f", "link", "real", "up"]
        assert sorted(os.listdir(os.open("dir", os.O_RDONLY, dir_fd=here))) == ["g"]
    close(world)


def test_over_1000_levels_each_entry_has_its_reason(mount: Path) -> None:
    made(mount / "in", chain(LEVELS + 500, 5), "f")
    world = world_of(mount)
    summary = world.run(REQUEST)
    assert summary["balanced"]
    assert summary["totals"]["copied"]["entries"] == LEVELS + 1
    assert set(reasons(world).values()) == {"over 1,000 directories deep"}
    close(world)


def test_what_somebody_put_deep_into_the_staging_directory_is_removed(mount: Path) -> None:
    made(mount / "in", [], "f")
    world = world_of(mount)
    world.list_all(world.plan(REQUEST))
    world.copy_all()
    made(mount / "out/.fanout-staging-run-1/planted", chain(LEVELS + 500, 12), "g")
    assert finish_tree(world.context())["done"]
    assert [path.name for path in (mount / "out").iterdir()] == ["f"]
    close(world)


def test_a_directory_is_opened_by_a_stack_and_descriptors_that_do_not_grow(mount: Path) -> None:
    names = chain(1500, 5)
    directories = Directories(str(mount))
    before = len(os.listdir("/proc/self/fd"))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)
    try:
        for _ in range(2):
            with directories.hold("/".join(names) + "/", create=True) as here:
                assert os.fstat(here)
    finally:
        sys.setrecursionlimit(limit)
    assert len(os.listdir("/proc/self/fd")) - before < 384
    directories.close()
    assert len(os.listdir("/proc/self/fd")) == before
