"""A source that goes back to an earlier version is copied, whatever ran in between and whatever index there is."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from fanout.model.document import Json
from fanout.model.entry import Attributes, Kind
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.memory_files import Stored
from tests.support.memory_store import MemoryStore
from tests.support.versions import Versions

FROM_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}
TO_S3: Json = {"source": "efs:///tree", "destination": "s3://a-bucket/copy/"}
INSIDE_S3: Json = {"source": "s3://a-bucket/tree/", "destination": "s3://a-bucket/copy/"}
DIRECTIONS = pytest.mark.parametrize(
    "request_", [FROM_S3, TO_S3, INSIDE_S3], ids=["S3 to mount", "mount to S3", "S3 to S3"]
)
V1, V2 = b"old", b"new"
SECOND = 10**9
# What v1 and v2 say of their mtimes: as they were written, as files of a mount have them, or both the same.
TIMES: dict[str, tuple[int | None, int | None]] = {
    "no mtimes": (None, None),
    "own mtimes": (5 * SECOND + 1, 5 * SECOND + 2),
    "equal mtimes": (7 * SECOND + 7, 7 * SECOND + 7),
}


def world_of() -> World:
    """Two trees, of which the source holds a file that will change and one that will not."""
    changes = itertools.count(1)
    source, destination = Versions(changes), Versions(changes)
    source.put("b", Kind.FILE, b"same")
    return World(changes, source, destination, MemoryStore())


def ends(world: World) -> tuple[Versions, Versions]:
    """Both trees."""
    assert isinstance(world.source, Versions) and isinstance(world.destination, Versions)
    return world.source, world.destination


def write(tree: MemoryTree, data: bytes, mtime_ns: int | None) -> Stored:
    """Write a version of the file."""
    tree.put("a", Kind.FILE, data, Attributes(mtime_ns=mtime_ns))
    return tree.contents()["a"]


def succeed(world: World, run_id: str, request: Json) -> tuple[World, Json]:
    """A further run that succeeds."""
    following = world.next_run(run_id)
    summary = following.run(request)
    assert summary["status"] == "SUCCEEDED", summary
    return following, summary


def with_a_rejected_entry(world: World, request: Json) -> World:
    """A run that ends with items."""
    source, destination = ends(world)
    source.put("k", Kind.FILE, b"")
    destination.put("k", Kind.DIRECTORY)
    following = world.next_run("between")
    assert following.run(request)["status"] == "FAILED_WITH_ITEMS"
    source.remove("k")
    destination.remove("k")
    return following


def retried(world: World, request: Json) -> World:
    """A run that is stopped when it has listed, and one that resumes it."""
    stopped = world.next_run("stopped")
    stopped.list_all(stopped.plan(request))
    return succeed(stopped, "between", {"resume_from": "stopped"})[0]


def by_manifest(world: World, request: Json) -> World:
    """A run that copies what a manifest names."""
    world.objects.put("a-bucket", "lists/some.csv", b"a\n")
    return succeed(world, "between", {**request, "manifest": "s3://a-bucket/lists/some.csv"})[0]


def with_option(option: Json) -> Callable[[World, Json], World]:
    """A run of another request."""
    return lambda world, request: succeed(world, "between", request | option)[0]


BETWEEN: dict[str, Callable[[World, Json], World]] = {
    "a rejected entry": with_a_rejected_entry,
    "a retry": retried,
    "compare always": with_option({"compare": "always"}),
    "compare checksum": with_option({"compare": "checksum"}),
    "a manifest": by_manifest,
    "other filters": with_option({"exclude": ["nothing"]}),
    "another on_conflict": with_option({"on_conflict": "skip"}),
}


def rolled_back(request: Json, between: str, times: str, *, seen: bool = False, later: bool = False) -> World:
    """v1 is copied and left in an index, v2 by a run that leaves none; then the source holds v1 again.

    ``seen``: a run between found v1 unchanged, so that the index knows the destination too. ``later``: what that run
    wrote is younger than the end of the run before it, by the clock of the runs.
    """
    first, second = TIMES[times]
    world = world_of()
    if later:
        world.clock.time = 100.0
    source, destination = ends(world)
    before = write(source, V1, first)
    world, summary = succeed(world, "run-1", request)
    assert summary["totals"]["copied"]["entries"] == 2
    if seen:
        world, summary = succeed(world, "run-1-again", request)
        assert summary["totals"]["copied"]["entries"] == 0
    if later:
        assert next(world.changes) * 2 < 100
        next(change for change in world.changes if change * 2 > 102)
        world.clock.time = 10_000.0
    write(source, V2, second)
    world = BETWEEN[between](world, request)
    assert destination.contents()["a"].data == V2
    source.bring_back("a", before)
    return world


def assert_copied(world: World, request: Json, others: int = 0) -> None:
    """A plan says that it is copied, and a run copies it, with no more than so many others."""
    world, summary = succeed(world, "plan", {**request, "mode": "plan"})
    assert summary["planned"]["to_copy"]["entries"] == 1 + others
    world, summary = succeed(world, "run-3", request)
    assert summary["totals"]["copied"]["entries"] == 1 + others
    assert ends(world)[1].contents()["a"].data == V1
    world, summary = succeed(world, "run-4", request)
    assert summary["totals"]["copied"]["entries"] == 0


@DIRECTIONS
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("times", ["no mtimes", "own mtimes"])
def test_a_rollback_is_copied(request_: Json, between: str, times: str) -> None:
    assert_copied(rolled_back(request_, between, times), request_)


@DIRECTIONS
@pytest.mark.parametrize("between", BETWEEN)
def test_a_rollback_to_a_version_of_the_same_mtime_is_copied_where_the_index_has_seen_the_destination(
    request_: Json, between: str
) -> None:
    world = rolled_back(request_, between, "equal mtimes", seen=True)
    others = int(between == "compare always")  # it wrote the other file too, and the index knows who did not
    assert_copied(world, request_, others)


@pytest.mark.parametrize("request_", [FROM_S3, TO_S3], ids=["S3 to mount", "mount to S3"])
@pytest.mark.parametrize("between", BETWEEN)
def test_a_destination_that_was_written_after_the_run_of_the_index_is_copied(request_: Json, between: str) -> None:
    """Also where both versions have the same mtime, and no run has looked at the destination since."""
    world = rolled_back(request_, between, "equal mtimes", later=True)
    world, _ = succeed(world, "run-3", request_)
    assert ends(world)[1].contents()["a"].data == V1


@pytest.mark.parametrize("between", BETWEEN)
def test_inside_s3_checksums_tell_versions_of_the_same_mtime_apart(between: str) -> None:
    assert_copied(rolled_back(INSIDE_S3, between, "equal mtimes"), INSIDE_S3)


@DIRECTIONS
@pytest.mark.parametrize("times", ["no mtimes", "own mtimes"])
def test_a_rollback_without_any_index_is_copied(request_: Json, times: str) -> None:
    world = rolled_back(request_, "compare always", times)
    world.store.remove(list(world.store.list("runs/indexes/")))
    assert_copied(world, request_)
