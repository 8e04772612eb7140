"""Deleting within ``limits.files_per_second``: batches of what the rate lets begin; being held back is no failure."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from msgspec import convert

from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import batches_within_rate, delete_shard
from fanout.model.deadline import NEVER, Deadline
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import Transient
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.ports.limiter import NoLimits
from fanout.work.rates.throttle import Throttle
from tests.support.flow import World
from tests.support.memory import MemoryTree

REQUEST: Json = {
    "source": "efs:///tree",
    "destination": "s3://b-bucket/copy/",
    "mode": "sync",
    "delete_guard": {"max_percent": 100},
    "limits": {"files_per_second": 1},
}


class Bucket(MemoryTree):
    """A destination that deletes up to 1,000 entries with a request, as S3 does."""

    delete_batch = 1000

    @property
    def file_system(self) -> None:  # type: ignore[override]
        return None


class Closed(NoLimits):
    """Lets nothing begin; ``held`` says whether that is a rate's doing."""

    def __init__(self, sleep: Callable[[float], None] = lambda seconds: None, *, held: bool) -> None:
        self.held, self._sleep = held, sleep

    def ask_to_begin(self, files: int, size: int) -> float:
        return 1000.0

    def sleep(self, seconds: float) -> None:
        self._sleep(seconds)

    def holds(self) -> bool:
        return self.held


class Slow(NoLimits):
    """Lets every entry begin, each after one wait."""

    waits = False

    def ask_to_begin(self, files: int, size: int) -> float:
        self.waits = not self.waits
        return 0.01 if self.waits else 0.0


def listed(extras: int) -> tuple[World, Shard]:
    """A sync up to BeginDeletion, with the shard of what is extra."""
    world = World()
    world.destination = Bucket(world.changes)
    for tree in (world.source, world.destination):
        assert isinstance(tree, MemoryTree)
        tree.put("kept", Kind.FILE, b"x")
    for number in range(extras):
        world.destination.put(f"old/{number:05d}", Kind.FILE, b"x")
    world.list_all(world.plan(REQUEST))
    partition_shards(world.context())
    world.copy_all()
    world.finish_all(deletes=True)
    begin_deletion(world.context())
    [row] = world.ledger.read_json("deletions.json")
    return world, convert(row["shard"], Shard)


def test_a_low_rate_deletes_what_it_allows_and_the_next_task_goes_on() -> None:
    world, shard = listed(1500)
    cursors = []
    for number in range(2):
        world.limiter = Throttle("DeleteShard", world.ledger, f"d{number}", world.clock.now, world.clock.sleep)
        began = world.clock.time
        answer = delete_shard(shard, world.context())
        world.limiter.end()
        cursors.append(answer["cursor"])
        assert cursors[-1] - (cursors[-2] if number else 0) <= world.clock.time - began + 2
    assert 800 < cursors[0] < 900
    assert answer == {"cursor": 1500, "done": True}
    assert [entry.path for entry in world.destination.list(Segment(""))] == ["kept"]


def test_a_task_that_the_rate_held_back_whole_is_repeated_and_has_not_failed() -> None:
    world, shard = listed(3)
    world.limiter = Closed(world.clock.sleep, held=True)
    assert delete_shard(shard, world.context()) == {"cursor": 0, "done": False}
    world.limiter = Closed(world.clock.sleep, held=False)
    with pytest.raises(Transient, match="none of 3 entries could be deleted in time"):
        delete_shard(shard, world.context())


def test_without_a_rate_batches_are_whole() -> None:
    left = [(number, Entry(f"{number}", Kind.FILE, 0)) for number in range(25)]
    batches = list(batches_within_rate(left, 10, NoLimits(), NEVER))
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert [one for batch in batches for one in batch] == left
    assert [len(batch) for batch in batches_within_rate(left, 10, Slow(), NEVER)] == [1] * 25


def test_names_of_one_file_are_parted_by_the_end_of_the_time_alone() -> None:
    inodes = ("", "1", "1", "1", "2", "2", "")
    left = [(number, Entry(f"{number}", Kind.FILE, 0, inode=inode)) for number, inode in enumerate(inodes)]
    assert [len(batch) for batch in batches_within_rate(left, 2, Slow(), NEVER)] == [1, 3, 2, 1]
    assert [len(batch) for batch in batches_within_rate(left, 2, Slow(), passed_when_asked(3))][:2] == [1, 2]


def passed_when_asked(times: int) -> Deadline:
    """A deadline that has passed when it is asked for the time so often."""
    asked = count(1)
    return Deadline(lambda: next(asked), times - 1)
