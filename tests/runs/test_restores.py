"""Runs that have S3 restore archived objects, with a clock and an archive of their own."""

from __future__ import annotations

from math import inf

import pytest

from fanout.facts import archives
from fanout.model.entry import Kind
from fanout.model.errors import ItemError
from fanout.model.outcome import Reason
from fanout.partition.partition_shards import partition_shards
from fanout.shards.held import last_progress
from tests.runs.archived import HOUR, REQUEST, Archived
from tests.support.archives import DAY, Object, restore


def test_archived_objects_are_asked_for_once_waited_for_and_copied() -> None:
    kinds = {"g": archives.GLACIER, "d": archives.DEEP_ARCHIVE, "i": archives.ARCHIVE_ACCESS}
    one = Archived()
    for path, kind in kinds.items():
        one.tree.put_archived(path, path.encode(), kind)
    began = one.world.clock.time
    summary = one.run()
    assert summary["status"] == "SUCCEEDED"
    assert one.copied == {"a": b"plain", "z": b"plain", "g": b"g", "d": b"d", "i": b"i"}
    assert one.archive.asked == dict.fromkeys(kinds, 1)
    waited = one.world.clock.time - began
    assert 0.9 * 12 * HOUR <= waited <= 12 * HOUR
    assert any("restore 1 objects of 1 bytes from DEEP_ARCHIVE" in note for note in summary["notes"])
    assert one.world.ledger.read_json("forecast.json")["dollars"]["restores"] > 0


def test_what_is_not_archived_is_copied_before_the_wait() -> None:
    one = Archived(g=archives.GLACIER)
    one.world.list_all(one.world.plan(REQUEST))
    shards = restore(one.world, partition_shards(one.world.context()))
    assert (shards["step"], shards["archived"]) == ("copy", 1)
    one.world.copy_listed(shards["copies"].removeprefix(one.world.ledger.prefix))
    assert one.copied.keys() == {"a", "z"}
    shards = restore(one.world, shards)
    assert (shards["step"], shards["wait"]) == ("wait", 5 * HOUR / 12)
    stand = last_progress(one.world.ledger)
    assert stand is not None and stand.waiting.entries == 1
    assert stand.expected_at == one.world.clock.time + 5 * HOUR


def test_a_run_of_archived_objects_alone_copies_them() -> None:
    one = Archived(g=archives.GLACIER)
    one.tree.remove("a")
    one.tree.remove("z")
    assert one.run()["status"] == "SUCCEEDED"
    assert one.copied == {"g": b"g"}


def test_what_is_restored_already_or_on_its_way_is_not_asked_for() -> None:
    one = Archived(g=archives.GLACIER, r=archives.GLACIER)
    now = one.world.clock.time
    one.archive.objects["r"] = Object(archives.GLACIER, readable_at=now - 1)
    one.archive.objects["g"] = Object(archives.GLACIER, now + HOUR, now + DAY, asked=True)
    summary = one.run()
    assert summary["status"] == "SUCCEEDED" and not one.archive.asked
    assert one.copied.keys() == {"a", "g", "r", "z"}


def test_objects_of_tiering_that_are_in_no_archive_wait_for_nothing() -> None:
    one = Archived(i=archives.ARCHIVE_ACCESS)
    one.archive.objects["i"].readable_at = 0.0
    began = one.world.clock.time
    assert one.run()["status"] == "SUCCEEDED"
    assert one.copied.keys() == {"a", "i", "z"} and one.world.clock.time == began


def test_an_object_that_is_never_restored_fails_when_the_wait_ends() -> None:
    one = Archived(takes=inf, g=archives.GLACIER)
    began = one.world.clock.time
    summary = one.run(restore={"tier": "bulk"})
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert one.failures() == [("g", "source object is archived")]
    assert one.world.clock.time - began == pytest.approx(24 * HOUR, abs=60)
    assert one.copied.keys() == {"a", "z"}
    assert any("not restored in twice the time" in note for note in summary["notes"])


def test_a_run_that_resumes_asks_again_and_copies() -> None:
    one = Archived(takes=inf, g=archives.GLACIER, h=archives.GLACIER)
    assert one.run()["status"] == "FAILED_WITH_ITEMS"
    one.archive.takes = 0.5
    one.archive.objects["h"].readable_at = one.world.clock.time + HOUR
    one.archive.objects["g"].asked = False
    second = one.world.next_run("run-2")
    summary = second.run({"resume_from": "run-1"})
    assert summary["status"] == "SUCCEEDED"
    assert one.archive.asked == {"g": 2, "h": 1}
    assert one.copied.keys() == {"a", "g", "h", "z"}


def test_a_run_that_resumes_one_that_restored_nothing_restores() -> None:
    one = Archived(g=archives.GLACIER)
    one.tree.tells = False
    assert one.run(archived="fail")["status"] == "FAILED_WITH_ITEMS"
    assert not one.archive.asked
    second = one.world.next_run("run-2")
    assert second.run({"resume_from": "run-1", "archived": "restore"})["status"] == "SUCCEEDED"
    assert one.archive.asked == {"g": 1} and "g" in one.copied


def test_a_copy_that_expired_before_it_was_read_fails_and_a_retry_asks_again() -> None:
    one = Archived(g=archives.GLACIER)
    world = one.world
    world.list_all(world.plan(REQUEST))
    shards = restore(world, partition_shards(world.context()))
    world.copy_listed(shards["copies"].removeprefix(world.ledger.prefix))
    world.clock.sleep(6 * HOUR)
    shards = restore(world, shards)
    assert shards["step"] == "copy"
    world.clock.sleep(8 * DAY)
    world.copy_listed(shards["copies"].removeprefix(world.ledger.prefix))
    world.finish_all()
    assert world.end()["status"] == "FAILED_WITH_ITEMS"
    assert one.failures() == [("g", "source object is archived")]
    assert world.next_run("run-2").run({"resume_from": "run-1"})["status"] == "SUCCEEDED"
    assert one.archive.asked == {"g": 2}


def test_an_object_that_changes_while_it_waits_is_failed_as_changed() -> None:
    one = Archived(g=archives.GLACIER)
    world = one.world
    world.list_all(world.plan(REQUEST))
    shards = restore(world, partition_shards(world.context()))
    world.copy_listed(shards["copies"].removeprefix(world.ledger.prefix))
    del one.archive.objects["g"]
    one.tree.put("g", Kind.FILE, b"another")
    shards = restore(world, shards)
    assert shards["step"] == "copy" and not shards["archived"]


def test_a_refusal_is_the_outcome_of_its_entry_and_holds_nothing_up() -> None:
    one = Archived(g=archives.GLACIER, h=archives.GLACIER)
    one.archive.refuses["h"] = ItemError(Reason.NOT_RESTORED, "allow s3:RestoreObject to the role")
    summary = one.run()
    assert summary["status"] == "FAILED_WITH_ITEMS"
    assert one.failures() == [("h", "source object cannot be restored")]
    assert one.copied.keys() == {"a", "g", "z"}
    one.archive.refuses.clear()
    second = one.world.next_run("run-2")
    assert second.run({"resume_from": "run-1"})["status"] == "SUCCEEDED"
    assert "h" in one.copied


@pytest.mark.parametrize("archive", [archives.DEEP_ARCHIVE, archives.DEEP_ARCHIVE_ACCESS])
def test_expedited_is_refused_entry_by_entry_where_an_archive_has_no_such_tier(archive: str) -> None:
    one = Archived(g=archives.GLACIER, d=archive)
    one.run(restore={"tier": "expedited"})
    (row,) = one.world.ledger.read_rows("failures.jsonl")
    assert (row["path"], row["reason"]) == ("d", "source object cannot be restored")
    assert f"{archive} has no tier expedited; request restore.tier: standard or bulk" in row["message"]
    assert one.archive.asked == {"g": 1} and "g" in one.copied


def test_a_big_archived_file_waits_and_is_put_together() -> None:
    one = Archived()
    data = bytes(range(256)) * (70 * 4096)
    one.tree.put_archived("big", data)
    summary = one.run(limits={"split_bytes": 16 * 1024 * 1024})
    assert summary["status"] == "SUCCEEDED"
    assert one.copied["big"] == data and one.archive.asked == {"big": 1}


def test_a_big_file_that_is_refused_fails_with_the_reason() -> None:
    one = Archived()
    one.tree.put_archived("big", bytes(70 * 1024 * 1024))
    one.archive.refuses["big"] = ItemError(Reason.NOT_RESTORED, "allow s3:RestoreObject to the role")
    one.run(limits={"split_bytes": 16 * 1024 * 1024})
    assert one.failures() == [("big", "source object cannot be restored")]


def test_a_plan_says_what_would_be_restored_and_asks_for_nothing() -> None:
    one = Archived(g=archives.GLACIER)
    one.run(mode="plan")
    forecast = one.world.ledger.read_json("forecast.json")
    assert forecast["predicted_seconds"]["restore"] == pytest.approx(5 * HOUR, rel=0.01)
    assert forecast["dollars"]["restores"] > 0 and not one.archive.asked
