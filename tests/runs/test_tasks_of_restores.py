"""Tasks that ask S3 to restore: what each asks for, where the next goes on, and when the wait ends."""

from __future__ import annotations

import pytest

from fanout.facts import archives, tuning
from fanout.model.entry import Entry
from fanout.model.errors import OutOfTime, Throttled, Transient
from fanout.partition.partition_shards import partition_shards
from fanout.ports.s3_services import ObjectLook
from fanout.request.parts.restore import Restore
from fanout.restoring import restore_objects as restoring
from fanout.restoring.restore_objects import wait_seconds
from fanout.shards.held import asked_back
from tests.runs.archived import HOUR, REQUEST, Archived
from tests.support.archives import restore


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
    first = restore(world, partition_shards(world.context()))
    world.clock.sleep(6 * HOUR)
    lost = restore(world, first)  # its answer did not arrive; GLACIER is ready
    world.clock.sleep(10 * HOUR)
    again = restore(world, first)  # both are
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

    def slow(entry: Entry, look: ObjectLook, restore: Restore) -> None:
        one.world.clock.sleep(8.0)
        ask(entry, look, restore)

    one.archive.ask = slow  # type: ignore[method-assign]
    world = one.world
    world.list_all(world.plan(REQUEST))
    shards = partition_shards(world.context())
    while (shards := restore(world, shards))["step"] == "again":
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
    shards = restore(world, partition_shards(world.context()))
    assert (shards["step"], one.archive.asked[last]) == ("copy", 0)
    world.remaining_seconds = 30.0
    look = one.archive.look

    def slow(entry: Entry) -> ObjectLook:
        if entry.path < "g3":  # of another shard
            world.clock.sleep(8.0)
        return look(entry)

    one.archive.look = slow  # type: ignore[method-assign]
    tasks = 1
    while (shards := restore(world, shards))["step"] == "again":
        tasks += 1
    assert tasks > 1 and shards["step"] == "wait"
    assert one.archive.asked == {f"g{number}": 1 for number in range(6)}


def test_what_a_task_asked_for_that_died_is_in_the_count_of_dollars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SHARD_ENTRIES", 1)
    one = Archived()
    for number in range(6):
        one.tree.put_archived(f"g{number}", b"g")
    ask = one.archive.ask

    def dying(entry: Entry, look: ObjectLook, restore: Restore) -> None:
        if entry.path == "g4":
            raise ConnectionResetError(entry.path)
        one.world.clock.sleep(tuning.CHECKPOINT_SECONDS)
        ask(entry, look, restore)

    world = one.world
    world.list_all(world.plan(REQUEST))
    shards = partition_shards(world.context())
    one.archive.ask = dying  # type: ignore[method-assign]
    with pytest.raises(ConnectionResetError):
        restore(world, shards)
    assert asked_back(world.ledger)[archives.GLACIER].entries == sum(one.archive.asked.values()) == 4
    one.archive.ask = ask  # type: ignore[method-assign]
    shards = restore(world, shards)
    assert shards["step"] == "copy" and shards["archived"] == 6
    assert asked_back(world.ledger)[archives.GLACIER].entries == sum(one.archive.asked.values()) == 6


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
