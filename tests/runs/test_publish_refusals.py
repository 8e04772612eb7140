"""Versions that no run publishes, deletes or changes."""

from __future__ import annotations

import dataclasses
import os

import pytest

from fanout.adapters.posix.tree import PosixTree
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import DeleteRefused, InvalidRequest, ItemError
from fanout.model.outcome import Reason
from fanout.model.segment import Segment
from tests.runs.test_publish import drop, put, world
from tests.support.publishing import REQUEST, PublishingWorld, held

__all__ = ["world"]


@pytest.mark.parametrize(
    ("filters", "said"), [({}, "the source holds nothing; an"), ({"include": ["x/**"]}, "nothing that the filters")]
)
def test_an_empty_version_is_never_published(world: PublishingWorld, filters: Json, said: str) -> None:
    world.publish()
    if not filters:
        for path in ("a.txt", "d/b.txt", "d/e/c.txt"):
            drop(world, path)
    with pytest.raises(DeleteRefused, match=said):
        world.following("v2").publish({**REQUEST, **filters})
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}
    put(world, "x/d.txt", "d")
    assert world.following("v3").publish()["published"]["version"] == "v3"


@pytest.mark.parametrize("mode", ["sync", "move"])
def test_no_other_run_deletes_versions(world: PublishingWorld, mode: str) -> None:
    world.publish()
    site = "efs:///site"
    request = {"source": "s3://a-bucket/tree/", "destination": site}
    if mode == "move":
        request = {"source": site, "destination": "efs:///other"}
    other = world.following("other")
    if mode == "move":
        other = dataclasses.replace(other, source=PosixTree(world.mount, "site", "other", "n"))
    with pytest.raises(InvalidRequest, match=f"a {mode} deletes its versions/ and its link"):
        other.plan({**request, "mode": mode})
    with pytest.raises(InvalidRequest, match="holds a published tree"):  # the link would go
        dataclasses.replace(other, run_id="filtered").plan({**request, "mode": mode, "exclude": ["versions/**"]})
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


@pytest.mark.parametrize("mode", ["copy to", "sync to", "move to", "move from"])
@pytest.mark.parametrize("place", ["site/versions", "site/versions/v1", "site/versions/v1/d"])
def test_no_other_run_changes_a_version(world: PublishingWorld, mode: str, place: str) -> None:
    world.publish()
    other = dataclasses.replace(world.following("other"), source=PosixTree(world.mount, place, "other", "n"))
    request = {"source": f"efs:///{place}", "destination": "efs:///other", "mode": "move"}
    if mode != "move from":
        other = dataclasses.replace(world.following("other"), destination=PosixTree(world.mount, place, "other", "n"))
        request = {"source": "s3://a-bucket/tree/", "destination": f"efs:///{place}", "mode": mode.split()[0]}
    with pytest.raises(InvalidRequest, match="lies in the versions of the published tree /site/"):
        other.plan(request)
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


@pytest.mark.parametrize("mode", ["copy to", "sync to", "move to", "move from"])
@pytest.mark.parametrize("place", ["", "v1", "v1/d"])
def test_no_run_changes_a_version_by_a_mount_that_shows_the_versions_alone(
    world: PublishingWorld, mode: str, place: str
) -> None:
    """The mount hides that the directory is called versions."""
    world.publish()
    other = dataclasses.replace(world.following("other"), mount=world.mount / "site/versions")
    does, _, way = mode.partition(" ")
    request = {"source": "s3://a-bucket/tree/", "destination": f"efs:///{place}", "mode": does}
    if way == "from":
        other = dataclasses.replace(other, source=PosixTree(other.mount, place, "other", "n"), mount=world.mount)
        request = {"source": f"efs:///{place}", "destination": "s3://a-bucket/to/", "mode": does}
    before = world.versions()
    with pytest.raises(InvalidRequest, match="lies in the versions of the published tree /"):
        other.plan(request)
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}
    assert world.versions() == before


@pytest.mark.parametrize("place", ["site/versions", "site/versions/v1", "site/versions/v1/d", "site/versions/new"])
@pytest.mark.parametrize("mode", ["copy", "sync"])
def test_no_run_keeps_what_it_replaces_in_a_version(world: PublishingWorld, place: str, mode: str) -> None:
    world.publish()
    request = {"source": "s3://a-bucket/tree/", "destination": "efs:///other", "backup_to": f"efs:///{place}"}
    before = sorted((world.mount / "site/versions").iterdir())
    with pytest.raises(InvalidRequest, match=r"^backup_to: .*lies in the versions of the published tree /site/"):
        world.following("other").plan({**request, "mode": mode})
    assert sorted((world.mount / "site/versions").iterdir()) == before
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


def test_a_published_tree_below_the_root_stays_when_extras_go(world: PublishingWorld) -> None:
    world.publish()
    (world.mount / "extra").mkdir()
    (world.mount / "extra/link").symlink_to("versions/none")
    (world.mount / "near").write_text("x")
    tree = PosixTree(world.mount, "", "other", "n")
    tree.check(writing=True)
    listed = [*tree.list(Segment(""))]
    kept = tree.delete([entry for entry in listed if entry.kind is not Kind.DIRECTORY])
    stuck = {}
    for entry in sorted((one for one in listed if one.kind is Kind.DIRECTORY), key=lambda one: one.path, reverse=True):
        try:
            tree.remove_directory(entry)
        except ItemError as error:
            stuck[entry.path] = error.reason
    assert {problem.reason for problem in kept.values()} == {Reason.PUBLISHED}
    assert "site/current" in kept and "near" not in kept and "extra/link" not in kept
    assert stuck["site/versions/v1/d/"] is Reason.PUBLISHED and "extra/" not in stuck
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


@pytest.mark.parametrize("stands", ["nothing", "file", "directory", "symlink", "unreadable"])
def test_what_is_called_versions_and_holds_none_is_like_any_other(world: PublishingWorld, stands: str) -> None:
    there = world.mount / "plain/versions"
    there.parent.mkdir()
    if stands == "file":
        there.write_text("mine")
    elif stands in ("directory", "unreadable"):
        there.mkdir(mode=0o755 if stands == "directory" else 0)
    elif stands == "symlink":
        there.symlink_to("/nowhere")
    world.plan({"source": "s3://a-bucket/tree/", "destination": "efs:///plain", "mode": "sync"})
    assert world.ledger.has("plan.json")


def test_a_plan_says_that_an_empty_version_would_be_refused(world: PublishingWorld) -> None:
    for path in ("a.txt", "d/b.txt", "d/e/c.txt"):
        drop(world, path)
    summary = world.run({**REQUEST, "mode": "plan"})
    assert any("an empty version is never published" in note for note in summary["notes"])
