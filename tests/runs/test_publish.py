"""`publish`: whole runs make versions, switch a link, keep some, and go back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fanout.model.entry import Kind
from fanout.model.errors import InvalidRequest, Superseded
from fanout.ports.turns import Fence, Turn
from tests.support.memory import MemoryTree
from tests.support.publishing import REQUEST, Fenced, PublishingWorld, held, rollback_to


@pytest.fixture
def world(tmp_path: Path) -> PublishingWorld:
    world = PublishingWorld(run_id="v1", mount=tmp_path)
    for path, text in (("a.txt", "a"), ("d/b.txt", "b"), ("d/e/c.txt", "c")):
        put(world, path, text)
    return world


def put(world: PublishingWorld, path: str, text: str) -> None:
    assert isinstance(world.source, MemoryTree)
    world.source.put(path, Kind.FILE, text.encode())


def drop(world: PublishingWorld, path: str) -> None:
    assert isinstance(world.source, MemoryTree)
    world.source.remove(path)


def test_a_first_run_publishes_a_whole_version(world: PublishingWorld) -> None:
    summary = world.publish()
    assert (summary["status"], summary["totals"]["copied"]["entries"]) == ("SUCCEEDED", 3)
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}
    assert world.versions() == [".directories-v1", ".published-v1", ".publisher", "v1"]
    published = summary["published"]
    assert (published["version"], published["before"], published["link"]) == ("v1", "", "current")


def test_the_next_version_has_names_of_the_files_that_did_not_change(world: PublishingWorld) -> None:
    world.publish()
    first = world.current
    put(world, "d/b.txt", "changed")
    put(world, "new.txt", "new")
    drop(world, "a.txt")
    following = world.following("v2")
    summary = following.publish()
    assert summary["status"] == "SUCCEEDED"
    assert {name: summary["totals"][name]["entries"] for name in ("listed", "copied", "unchanged")} == {
        "listed": 3,
        "copied": 2,
        "unchanged": 1,
    }
    assert held(world.current) == {"d/b.txt": "changed", "d/e/c.txt": "c", "new.txt": "new"}
    assert held(first) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}
    assert (first / "d/e/c.txt").samefile(world.current / "d/e/c.txt")
    assert not (first / "d/b.txt").samefile(world.current / "d/b.txt")
    assert summary["published"]["linked"] == summary["forecast"]["linked"] == {"entries": 1, "bytes": 1}
    page = following.ledger.read_bytes("report.html").decode()
    assert "leads to version <code><bdi>v2</bdi></code>; before, it led to <code><bdi>v1</bdi></code>" in page
    assert "1 entries (1 B) have the files of that version, and were not copied." in page


def test_a_rollback_switches_the_link_back_and_the_next_run_builds_on_that(world: PublishingWorld) -> None:
    world.publish()
    put(world, "a.txt", "broken")
    world.following("v2").publish()
    summary = world.following("back").publish(rollback_to("v1"))
    assert (summary["status"], summary["mode"]) == ("SUCCEEDED", "rollback")
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    assert (summary["published"]["version"], summary["published"]["before"]) == ("v1", "v2")
    put(world, "a.txt", "mended")
    summary = world.following("v3").publish()
    assert summary["published"]["before"] == "v1"
    assert held(world.current) == {"a.txt": "mended", "d/b.txt": "b", "d/e/c.txt": "c"}
    assert (world.mount / "site/versions/v1/d/b.txt").samefile(world.current / "d/b.txt")


def test_the_version_that_was_rolled_back_to_stays_and_the_one_that_was_rolled_back_from_goes(
    world: PublishingWorld,
) -> None:
    keep_two = {**REQUEST, "publish": {"link": "current", "keep": 2, "keep_hours": 0}}
    world.publish(keep_two)
    put(world, "a.txt", "broken")
    world.following("v2").publish(keep_two)
    world.following("back").publish(rollback_to("v1"))
    put(world, "a.txt", "mended")
    summary = world.following("v3").publish(keep_two)
    assert summary["published"]["removed"] == ["v2"]
    assert held(world.mount / "site/versions/v1") == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


def test_versions_beyond_those_that_are_kept_go_and_the_rest_stays_whole(world: PublishingWorld) -> None:
    worlds = [world]
    for number in range(1, 6):
        if number > 1:
            worlds.append(worlds[-1].following(f"v{number}"))
        put(world, "n.txt", str(number))
        summary = worlds[-1].publish()
    assert [name for name in world.versions() if not name.startswith(".")] == ["v3", "v4", "v5"]
    assert summary["published"]["removed"] == ["v2"]
    for number in (3, 4, 5):
        found = held(world.mount / f"site/versions/v{number}")
        assert found == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c", "n.txt": str(number)}


def test_a_version_stays_for_the_hours_that_are_asked_for(world: PublishingWorld) -> None:
    request = {**REQUEST, "publish": {"link": "current", "keep": 1, "keep_hours": 2}}
    world.publish(request)
    world.clock.time += 1.5 * 3600
    world.following("v2").publish(request)
    assert (world.mount / "site/versions/v1").is_dir()
    world.clock.time += 2.5 * 3600
    world.following("v3").publish(request)
    assert [name for name in world.versions() if not name.startswith(".")] == ["v2", "v3"]


def test_a_run_with_a_failed_entry_leaves_the_link_and_a_resumed_one_publishes(world: PublishingWorld) -> None:
    world.publish()
    put(world, "bad.txt", "bad")
    second = world.following("v2")
    second.list_all(second.plan(REQUEST))
    drop(world, "bad.txt")
    second.copy_all()
    second.finish_all(deletes=True)
    second.switch()
    summary = second.end()
    assert (summary["status"], summary["published"]) == ("FAILED_WITH_ITEMS", None)
    assert "<strong>Not published:</strong>" in second.ledger.read_bytes("report.html").decode()
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    assert ".published-v2" not in world.versions()
    put(world, "other.txt", "o")
    third = second.following("v2-again")
    summary = third.publish({"resume_from": "v2"})
    assert summary["status"] == "FAILED_WITH_ITEMS"  # it keeps to the old listing
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    summary = third.following("v4").publish()
    assert summary["status"] == "SUCCEEDED"
    assert summary["published"]["removed"] == ["v2"]
    with pytest.raises(InvalidRequest, match=r"resume_from: the version that v2 began was removed when a later run"):
        third.following("v5").publish({"resume_from": "v2"})


def test_a_resumed_run_goes_on_in_the_version_that_was_begun(world: PublishingWorld) -> None:
    world.publish()
    put(world, "new.txt", "new")
    second = world.following("v2")
    second.list_all(second.plan(REQUEST))
    third = second.following("v2-again")
    summary = third.publish({"resume_from": "v2"})
    assert summary["status"] == "SUCCEEDED"
    assert os.readlink(world.mount / "site/current") == "versions/v2"
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c", "new.txt": "new"}
    assert (world.mount / "site/versions/v1/a.txt").samefile(world.current / "a.txt")
    summary = third.following("v3").publish()
    assert (summary["status"], os.readlink(world.mount / "site/current")) == ("SUCCEEDED", "versions/v3")


@pytest.mark.parametrize("is_first", [True, False])
def test_a_run_that_was_killed_before_its_version_began_is_resumed(world: PublishingWorld, is_first: bool) -> None:
    if not is_first:
        world.publish()
        put(world, "new.txt", "new")
    second = world.following("v2")
    second.walk("PlanTransfer", REQUEST, "CheckMount")
    third = second.following("v2-again")
    summary = third.publish({"resume_from": "v2"})
    assert summary["status"] == "SUCCEEDED"
    assert os.readlink(world.mount / "site/current") == "versions/v2"
    assert held(world.current) == held(world.mount / "site/versions/v2") != {}


def test_a_file_that_was_touched_in_the_published_version_is_copied_and_not_linked(world: PublishingWorld) -> None:
    world.publish()
    (world.current / "a.txt").write_text("longer")
    summary = world.following("v2").publish()
    assert held(world.current)["a.txt"] == "a"
    assert summary["totals"]["copied"]["entries"] == 1


def test_without_room_for_a_name_a_file_is_copied_and_counted(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    link = os.link

    def no_room(source: str, *rest: object, **named: object) -> None:
        if source == "c.txt":
            raise OSError(31, "Too many links")
        link(source, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", no_room)
    summary = world.following("v2").publish()
    assert {name: summary["totals"][name]["entries"] for name in ("copied", "unchanged")} == {
        "copied": 1,
        "unchanged": 2,
    }
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}


@pytest.mark.parametrize("verify", ["copied", "all"])
def test_a_version_is_verified_before_it_is_published(world: PublishingWorld, verify: str) -> None:
    world.publish()
    put(world, "a.txt", "aa")
    request = {**REQUEST, "verify": verify}
    second = world.following("v2")
    second.list_all(second.plan(request))
    second.copy_all()
    second.finish_all(deletes=True)
    (world.mount / "site/versions/v2/a.txt").write_text("zz")
    second.verify_all() if verify == "copied" else second.verify_trees()
    second.switch()
    summary = second.end()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert os.readlink(world.mount / "site/current") == "versions/v1"


def test_a_run_that_verifies_and_finds_nothing_wrong_is_published(world: PublishingWorld) -> None:
    world.publish()
    request = {**REQUEST, "verify": "all"}
    second = world.following("v2")
    second.list_all(second.plan(request))
    second.copy_all()
    second.finish_all(deletes=True)
    second.verify_trees()
    second.switch()
    summary = second.end()
    assert (summary["status"], summary["verification"]["differences"]) == ("SUCCEEDED", 0)
    assert os.readlink(world.mount / "site/current") == "versions/v2"


def test_a_function_that_wakes_up_after_a_rollback_switches_nothing(world: PublishingWorld) -> None:
    world.publish()
    put(world, "a.txt", "aa")
    second = world.following("v2")
    second.list_all(second.plan(REQUEST))
    second.copy_all()
    second.finish_all(deletes=True)
    turns = Turn((Fence("site/versions/", "v2"),))
    third = world.following("v3")
    third.turns = Fenced(turns)  # type: ignore[assignment]
    assert third.publish()["status"] == "SUCCEEDED"
    with pytest.raises(Superseded):
        second.switch()
    assert os.readlink(world.mount / "site/current") == "versions/v3"
    assert held(world.current)["a.txt"] == "aa"


def test_an_attempt_beside_the_one_that_switched_ends_as_done(world: PublishingWorld) -> None:
    world.publish()
    world.store.remove(["runs/v1/summary.json"])  # after it no attempt does anything
    world.switch()
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    assert world.versions() == [".directories-v1", ".published-v1", ".publisher", "v1"]
