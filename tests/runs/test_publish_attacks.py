"""Whole runs that publish, and what goes wrong beside them: others' directories, late functions, changed clocks."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from pathlib import Path

import pytest

from fanout.adapters.posix.publishing.versions import PosixVersions
from fanout.adapters.posix.tree import PosixTree
from fanout.copying.linking import VERSION_BEFORE
from fanout.ledger import run_places
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from tests.runs.test_publish import put, world
from tests.support.publishing import REQUEST, PublishingWorld, held, rollback_to

__all__ = ["world"]
WITHIN = {**REQUEST, "source": "efs:///in"}


def until_the_switch(world: PublishingWorld, request: Json = REQUEST) -> None:
    world.list_all(world.plan(request))
    world.copy_all()
    world.finish_all(deletes=True)


def known(world: PublishingWorld) -> list[str]:
    """What ``fanout versions`` shows."""
    ledger = world.ledger.of_run(run_places.VERSIONS)
    (key,) = ledger.keys("")
    return [one["version"] for one in ledger.read_json(key)["versions"]]


def on_a_mount(tmp_path: Path, run_id: str = "v1") -> PublishingWorld:
    for path, text in (("a.txt", "a"), ("d/b.txt", "b"), ("d/e/c.txt", "c")):
        (tmp_path / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / path).write_text(text)
    return PublishingWorld(run_id=run_id, mount=tmp_path, source=PosixTree(tmp_path, "in", run_id, "s", "source"))


def test_what_somebody_keeps_below_versions_stays(world: PublishingWorld) -> None:
    theirs = world.mount / "site/versions/2023"
    theirs.mkdir(parents=True)
    (theirs / "paper.txt").write_text("theirs")
    for number in range(1, 6):
        put(world, "n.txt", str(number))
        summary = world.following(f"v{number}").publish()
        assert "2023" not in summary["published"]["removed"]
    assert (theirs / "paper.txt").read_text() == "theirs"
    assert [name for name in world.versions() if name[0] != "."] == ["2023", "v3", "v4", "v5"]


def test_a_directory_in_the_place_of_the_link_stays_and_the_resumed_run_publishes(world: PublishingWorld) -> None:
    world.publish()
    put(world, "a.txt", "aa")
    second = world.following("v2")
    until_the_switch(second)
    link = world.mount / "site/current"
    link.unlink()
    link.mkdir()
    (link / "theirs").write_text("theirs")
    second.switch()
    message = second.end()["error"]["message"]
    assert "not published: publish.link: /site/current is there, and is no symlink; name another link, or" in message
    assert (link / "theirs").read_text() == "theirs"
    assert ".published-v2" not in world.versions()
    shutil.rmtree(link)
    summary = second.following("v2-again").publish({"resume_from": "v2"})
    assert (summary["status"], os.readlink(link)) == ("SUCCEEDED", "versions/v2")
    assert held(world.current)["a.txt"] == "aa"


def test_a_run_that_was_broken_off_between_note_and_switch_can_be_resumed(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    put(world, "a.txt", "aa")
    second = world.following("v2")
    until_the_switch(second)

    def dies(_: PosixVersions) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(PosixVersions, "switch", dies)
        second.switch()
    assert ".published-v2" in world.versions()
    summary = second.following("v2-again").publish({"resume_from": "v2"})
    assert summary["status"] == "SUCCEEDED"
    assert os.readlink(world.mount / "site/current") == "versions/v2"
    with pytest.raises(InvalidRequest, match="resume_from: a version v2 is published already"):
        second.following("v2-third").publish({"resume_from": "v2-again"})


def test_a_rollback_to_a_version_that_goes_meanwhile_leaves_the_link(world: PublishingWorld) -> None:
    """A function of a stopped run takes the version away after the rollback has looked, before it fences that run."""
    world.publish()
    put(world, "a.txt", "aa")
    world.following("v2").publish()
    back = world.following("back")
    back.plan(rollback_to("v1"))
    os.rename(world.mount / "site/versions/v1", world.mount / "site/versions/.removed-v1-0")
    back.switch()
    message = back.end()["error"]["message"]
    assert "not published: source: efs://data/site/versions/v1 is no version that was ever" in message
    assert os.readlink(world.mount / "site/current") == "versions/v2"
    assert held(world.current)["a.txt"] == "aa"


def test_a_rollback_that_was_stopped_before_the_switch_leaves_the_link_and_a_publishing_run_goes_on(
    world: PublishingWorld,
) -> None:
    world.publish()
    put(world, "a.txt", "aa")
    world.following("v2").publish()
    world.following("back").plan(rollback_to("v1"))
    assert os.readlink(world.mount / "site/current") == "versions/v2"
    put(world, "a.txt", "aaa")
    assert world.following("v3").publish()["published"]["before"] == "v2"


def test_an_object_that_a_reader_changed_in_place_is_copied_anew(world: PublishingWorld) -> None:
    world.publish()
    (world.current / "a.txt").write_text("X")
    summary = world.following("v2").publish()
    assert held(world.current) == {"a.txt": "a", "d/b.txt": "b", "d/e/c.txt": "c"}
    assert {name: summary["totals"][name]["entries"] for name in ("copied", "unchanged")} == {
        "copied": 1,
        "unchanged": 2,
    }


def test_copies_that_get_the_time_of_writing_are_linked_all_the_same(world: PublishingWorld) -> None:
    request = {**REQUEST, "attributes": {"mtime": "now"}}
    for one in (world, world.following("v2")):
        one.clock.time = 4_000_000_000.0 if one is world else 4_000_000_100.0
        summary = one.publish(request)
    assert summary["totals"]["unchanged"]["entries"] == 3


def test_a_clock_that_jumps_back_neither_hides_nor_removes_the_version_that_was_published_last(
    world: PublishingWorld,
) -> None:
    request = {**REQUEST, "publish": {"link": "current", "keep": 2, "keep_hours": 0}}
    world.publish(request)
    following = world
    for number, jump in ((2, 1e6), (3, -2e6), (4, 1e6)):
        following = following.following(f"v{number}")
        following.clock.time += jump
        put(world, "n.txt", str(number))
        assert following.publish(request)["status"] == "SUCCEEDED"
        assert known(following)[:2] == [f"v{number}", f"v{number - 1}"]
    assert [name for name in world.versions() if name[0] != "."] == ["v3", "v4"]


def test_a_reader_that_opened_a_file_before_the_switch_reads_on(world: PublishingWorld) -> None:
    request = {**REQUEST, "publish": {"link": "current", "keep": 1}}
    world.publish(request)
    inside = os.open(world.current, os.O_RDONLY)
    with (world.mount / "site/current/a.txt").open() as reader:
        put(world, "a.txt", "changed")
        second = world.following("v2")
        assert second.publish(request)["published"]["removed"] == []
        summary = second.following("v3").publish(request)
        assert (summary["published"]["removed"], reader.read()) == (["v1"], "a")
    os.close(inside)
    assert (world.mount / "site/current/a.txt").read_text() == "changed"


def test_within_one_mount_unchanged_files_are_linked_and_directories_have_the_sources_attributes(
    tmp_path: Path,
) -> None:
    first = on_a_mount(tmp_path)
    (tmp_path / "in/d").chmod(0o750)
    os.utime(tmp_path / "in/d", (1_000, 1_000))
    first.publish(WITHIN)
    old = tmp_path / "site/versions/v1"
    assert (old.joinpath("d").stat().st_mode & 0o777, old.joinpath("d").stat().st_mtime) == (0o750, 1_000)
    (tmp_path / "in/new.txt").write_text("new")
    (tmp_path / "in/d/b.txt").unlink()
    (tmp_path / "in/d").chmod(0o700)
    os.utime(tmp_path / "in/d", (2_000, 2_000))
    second = first.following("v2")
    summary = second.publish(WITHIN)
    assert (summary["totals"]["copied"]["entries"], summary["published"]["linked"]["entries"]) == (
        3,
        2,
    )  # two directories
    assert held(second.current) == {"a.txt": "a", "d/e/c.txt": "c", "new.txt": "new"}
    assert (second.current / "d/e/c.txt").samefile(old / "d/e/c.txt")
    new = second.current / "d"
    assert (new.stat().st_mode & 0o777, new.stat().st_mtime) == (0o700, 2_000)
    assert (old.joinpath("d").stat().st_mode & 0o777, old.joinpath("d").stat().st_mtime) == (0o750, 1_000)


def test_a_file_whose_attributes_changed_is_copied_so_that_the_old_version_keeps_its_own(tmp_path: Path) -> None:
    first = on_a_mount(tmp_path)
    (tmp_path / "in/a.txt").chmod(0o644)
    first.publish(WITHIN)
    old = tmp_path / "site/versions/v1/a.txt"
    (tmp_path / "in/a.txt").chmod(0o600)
    second = first.following("v2")
    second.publish(WITHIN)
    assert not (second.current / "a.txt").samefile(old)
    assert ((second.current / "a.txt").stat().st_mode & 0o777, old.stat().st_mode & 0o777) == (0o600, 0o644)


def test_a_full_disk_leaves_the_link_and_a_resumed_run_publishes(
    world: PublishingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.publish()
    put(world, "b1.txt", "one")
    put(world, "b2.txt", "two")
    second = world.following("v2")
    second.list_all(second.plan(REQUEST))
    calls = []

    def full(descriptor: int, *rest: object) -> int:
        calls.append(descriptor)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return int(pwrite(descriptor, *rest))  # type: ignore[arg-type]

    pwrite = os.pwrite
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        second.copy_all()
    second.finish_all(deletes=True)
    second.switch()
    summary = second.end()
    assert (summary["status"], summary["published"]) == ("FAILED_WITH_ITEMS", None)
    assert {one["reason"] for one in summary["failures_by_class"]} == {"no space at the destination"}
    assert os.readlink(world.mount / "site/current") == "versions/v1"
    assert second.following("v2-again").publish({"resume_from": "v2"})["status"] == "SUCCEEDED"
    assert held(world.current) == held(world.mount / "site/versions/v1") | {"b1.txt": "one", "b2.txt": "two"}


def test_a_plan_says_what_would_be_linked_and_makes_nothing(world: PublishingWorld) -> None:
    world.publish()
    put(world, "a.txt", "aa")
    before = sorted(world.mount.rglob("*"))
    plan = world.following("plan-1")
    plan.run({**REQUEST, "mode": "plan"})
    summary = plan.ledger.read_json("summary.json")
    assert (summary["planned"]["to_copy"]["entries"], summary["forecast"]["linked"]["entries"]) == (1, 2)
    actions = {row["path"]: row["action"] for row in plan.ledger.read_rows("planned.jsonl")}
    assert actions == {"a.txt": "copy", "d/b.txt": "link", "d/e/c.txt": "link"}
    assert sorted(world.mount.rglob("*")) == before


def test_the_checks_of_another_attempt_find_what_the_first_one_noted(world: PublishingWorld) -> None:
    world.publish()
    second = world.following("v2")
    plan_transfer(REQUEST, second.context(), ("data",), 10, "work")
    check_mount(second.context())
    noted = second.ledger.read_json(VERSION_BEFORE)
    check_mount(dataclasses.replace(second).context())
    assert json.loads(json.dumps(noted)) == second.ledger.read_json(VERSION_BEFORE)
    assert noted["version"] == "v1"
