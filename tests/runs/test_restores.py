"""Runs that have S3 restore archived objects, with a clock and an archive of their own."""

from __future__ import annotations

import itertools
from math import inf

import pytest

from fanout.facts import archives, tuning
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import ItemError, OutOfTime, Throttled, Transient
from fanout.model.outcome import Reason
from fanout.partition.partition_shards import partition_shards
from fanout.ports.aws import Look
from fanout.request.parts.restore import Restore
from fanout.restoring import restore_objects as restoring
from fanout.restoring.restore_objects import wait_seconds
from fanout.shards.held import asked_back, last_stand
from tests.support.archives import DAY, ArchivedTree, FakeArchive, Object
from tests.support.flow import ManualClock, World
from tests.support.memory import MemoryTree

REQUEST: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy", "archived": "restore"}
HOUR = 3600.0


class Archived:
    """A world with two plain objects, and what is put into archives."""

    def __init__(self, takes: float = 0.9, **kinds: str) -> None:
        clock, changes = ManualClock(), itertools.count(1)
        self.archive = FakeArchive(clock, takes)
        self.tree = ArchivedTree(changes, self.archive)
        self.world = World(changes, self.tree, clock=clock, archive=self.archive)
        for name in ("a", "z"):
            self.tree.put(name, Kind.FILE, b"plain")
        for name, kind in kinds.items():
            self.tree.put_archived(name, name.encode(), kind)

    def run(self, **options: object) -> Json:
        return self.world.run({**REQUEST, **options})

    @property
    def copied(self) -> dict[str, bytes]:
        there = self.world.destination
        assert isinstance(there, MemoryTree)
        return {path: stored.data for path, stored in there.contents().items()}

    def failures(self, world: World | None = None) -> list[tuple[str, str]]:
        ledger = (world or self.world).ledger
        return [(row["path"], row["reason"]) for row in ledger.read_rows("failures.jsonl")]


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
    shards = one.world.restore(partition_shards(one.world.context()))
    assert (shards["step"], shards["archived"]) == ("copy", 1)
    one.world.copy_listed(shards["copies"].removeprefix(one.world.ledger.prefix))
    assert one.copied.keys() == {"a", "z"}
    shards = one.world.restore(shards)
    assert (shards["step"], shards["wait"]) == ("wait", 5 * HOUR / 12)
    stand = last_stand(one.world.ledger)
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
    shards = world.restore(partition_shards(world.context()))
    world.copy_listed(shards["copies"].removeprefix(world.ledger.prefix))
    world.clock.sleep(6 * HOUR)
    shards = world.restore(shards)
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
    shards = world.restore(partition_shards(world.context()))
    world.copy_listed(shards["copies"].removeprefix(world.ledger.prefix))
    del one.archive.objects["g"]
    one.tree.put("g", Kind.FILE, b"another")
    shards = world.restore(shards)
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


@pytest.mark.parametrize("error", [Throttled("503 SlowDown"), Transient("503 GlacierExpeditedRetrievalNotAvailable")])
def test_what_s3_could_not_take_is_asked_for_again(error: Throttled | Transient) -> None:
    one = Archived(g=archives.GLACIER, h=archives.GLACIER)
    one.archive.fails["g"] = [error, error]
    assert one.run()["status"] == "SUCCEEDED"
    assert one.archive.asked == {"g": 1, "h": 1}


def test_a_task_that_ran_twice_hands_every_shard_to_a_map() -> None:
    one = Archived(g=archives.GLACIER, d=archives.DEEP_ARCHIVE)
    world = one.world
    world.list_all(world.plan(REQUEST))
    first = world.restore(partition_shards(world.context()))
    world.clock.sleep(6 * HOUR)
    lost = world.restore(first)  # its answer did not arrive; GLACIER is ready
    world.clock.sleep(10 * HOUR)
    again = world.restore(first)  # both are
    assert (lost["archived"], again["archived"]) == (1, 0)
    for one_of in (first, lost, again):
        world.copy_listed(one_of["copies"].removeprefix(world.ledger.prefix))
    world.finish_all()
    assert world.end()["status"] == "SUCCEEDED" and one.archive.asked == {"g": 1, "d": 1}


def test_asking_goes_on_where_the_time_was_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 2)
    monkeypatch.setattr(restoring, "REQUESTS_IN_FLIGHT", 1)
    one = Archived()
    for number in range(9):
        one.tree.put_archived(f"g{number}", b"g")
    one.world.remaining_seconds = 30.0
    ask, steps = one.archive.ask, []

    def slow(entry: Entry, look: Look, restore: Restore) -> None:
        one.world.clock.sleep(8.0)
        ask(entry, look, restore)

    one.archive.ask = slow  # type: ignore[method-assign]
    world = one.world
    world.list_all(world.plan(REQUEST))
    shards = partition_shards(world.context())
    while (shards := world.restore(shards))["step"] == "again":
        steps.append(sum(one.archive.asked.values()))
    assert steps == sorted(set(steps)) and len(steps) >= 2
    assert one.archive.asked == {f"g{number}": 1 for number in range(9)}


def test_a_round_that_takes_several_tasks_asks_again_in_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 3)
    monkeypatch.setattr(restoring, "REQUESTS_IN_FLIGHT", 1)
    monkeypatch.setattr(restoring, "LOOKED_AT_TOGETHER", 1)
    one = Archived()
    for number in range(6):
        one.tree.put_archived(f"g{number}", b"g")
    last = "g5"
    one.archive.fails[last] = [Throttled("503 SlowDown")]
    world = one.world
    world.list_all(world.plan(REQUEST))
    shards = world.restore(partition_shards(world.context()))
    assert (shards["step"], one.archive.asked[last]) == ("copy", 0)
    world.remaining_seconds = 30.0
    look = one.archive.look

    def slow(entry: Entry) -> Look:
        if entry.path < "g3":  # of another shard
            world.clock.sleep(8.0)
        return look(entry)

    one.archive.look = slow  # type: ignore[method-assign]
    tasks = 1
    while (shards := world.restore(shards))["step"] == "again":
        tasks += 1
    assert tasks > 1 and shards["step"] == "wait"
    assert one.archive.asked == {f"g{number}": 1 for number in range(6)}


def test_what_a_task_asked_for_that_died_is_in_the_count_of_dollars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 1)
    one = Archived()
    for number in range(6):
        one.tree.put_archived(f"g{number}", b"g")
    ask = one.archive.ask

    def dying(entry: Entry, look: Look, restore: Restore) -> None:
        if entry.path == "g4":
            raise ConnectionResetError(entry.path)
        one.world.clock.sleep(tuning.CHECKPOINT_SECONDS)
        ask(entry, look, restore)

    world = one.world
    world.list_all(world.plan(REQUEST))
    shards = partition_shards(world.context())
    one.archive.ask = dying  # type: ignore[method-assign]
    with pytest.raises(ConnectionResetError):
        world.restore(shards)
    assert asked_back(world.ledger)[archives.GLACIER].entries == sum(one.archive.asked.values()) == 4
    one.archive.ask = ask  # type: ignore[method-assign]
    shards = world.restore(shards)
    assert shards["step"] == "copy" and shards["archived"] == 6
    assert asked_back(world.ledger)[archives.GLACIER].entries == sum(one.archive.asked.values()) == 6


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


def test_a_run_out_of_time_waits_no_longer_than_it_may() -> None:
    one = Archived(g=archives.GLACIER)
    began = one.world.clock.time
    with pytest.raises(OutOfTime):
        one.run(limits={"max_seconds": 2 * HOUR})
    assert one.world.clock.time - began == pytest.approx(2 * HOUR, abs=60)
    second = one.world.next_run("run-2")
    assert second.run({"resume_from": "run-1", "limits": {"max_seconds": 90 * HOUR}})["status"] == "SUCCEEDED"
    assert one.archive.asked == {"g": 1}


@pytest.mark.parametrize(
    ("now", "run_ends_at", "seconds"), [(0.0, None, 500), (11_900.0, None, 100), (0.0, 200.0, 200), (0.0, 0.2, 1)]
)
def test_a_wait_ends_with_the_wait_for_all_or_with_the_run(now: float, run_ends_at: float | None, seconds: int) -> None:
    assert wait_seconds(now, 6_000.0, 12_000.0, run_ends_at) == seconds


def test_expedited_is_looked_at_every_minute() -> None:
    assert wait_seconds(0.0, 300.0, 600.0, None) == 60
