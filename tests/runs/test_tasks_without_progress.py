"""A task on a shard that got nothing done: one rule for all of them, see ``shards.tasks.shard_task``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace as with_fields

from fanout.copying.copy_shard import copy_shard
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.source_looks import look_at_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.model.document import Json
from fanout.model.entry import Kind
from fanout.model.errors import OutOfTime, Transient
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.staging.digest_destination import digest_destination
from fanout.staging.pack_shard import pack_shard
from fanout.staging.unpack_shard import unpack_shard
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard
from fanout.work.context import Context
from tests.deleting.test_deletion_at_a_rate import Closed, listed
from tests.support.flow import World
from tests.support.memory import MemoryTree
from tests.support.two_mounts import TwoMounts

Task = Callable[[Shard, Context], Json]
Begun = tuple[World, Callable[[], Context], Shard, Task]


def copied(tmp_path: Path) -> Begun:
    world = World()
    assert isinstance(world.source, MemoryTree)
    world.source.put("a", Kind.FILE, b"x")
    world.list_all(world.plan())
    partition_shards(world.context())
    [row] = world.ledger.read_json("shards.json")
    return world, world.context, convert(row["shard"], Shard), copy_shard


def verified(tmp_path: Path) -> Begun:
    world, context, shard, _ = copied(tmp_path)
    copy_shard(shard, context())
    return world, context, shard, verify_shard


def deleted(tmp_path: Path) -> Begun:
    world, shard = listed(3)
    return world, world.context, shard, delete_shard


def between(tmp_path: Path, **options: Any) -> tuple[TwoMounts, Shard]:
    mounts = TwoMounts(tmp_path)
    (mounts.source_root / "a").write_text("x")
    mounts.root.mkdir(parents=True)
    mounts.list_all(options)
    return mounts, mounts.shards()[0]


def packed(tmp_path: Path) -> Begun:
    mounts, shard = between(tmp_path)
    return mounts.world, mounts.source, shard, pack_shard


def unpacked(tmp_path: Path) -> Begun:
    mounts, shard = between(tmp_path)
    pack_shard(shard, mounts.source())
    return mounts.world, mounts.destination, shard, unpack_shard


def digested(tmp_path: Path) -> Begun:
    mounts, shard = between(tmp_path)
    return mounts.world, mounts.source, shard, digest_shard


def digested_there(tmp_path: Path) -> Begun:
    mounts, shard = between(tmp_path, compare="checksum")
    return mounts.world, mounts.destination, shard, digest_destination


def looked_for(tmp_path: Path) -> Begun:
    mounts = TwoMounts(tmp_path)
    mounts.root.mkdir(parents=True)
    for path in (mounts.source_root / "a", mounts.root / "a", mounts.root / "extra"):
        path.write_text("x")
    mounts.list_all({"mode": "sync", "delete_guard": {"max_percent": 100}})
    mounts.copy_all()
    finish_tree(mounts.destination(), deletes=True)
    begin_deletion(mounts.neither())
    [row] = mounts.world.ledger.read_json("deletions.json")
    return mounts.world, mounts.source, convert(row["shard"], Shard), look_at_shard


TASKS = (copied, verified, deleted, packed, unpacked, digested, digested_there, looked_for)


@pytest.mark.parametrize("begin", TASKS)
def test_what_a_rate_holds_back_is_left_to_the_next_task(begin: Callable[[Path], Begun], tmp_path: Path) -> None:
    world, context, shard, task = begin(tmp_path)
    world.limiter = Closed(world.clock.sleep, held=True)
    answer = task(shard, context())
    assert (answer["cursor"], answer["done"]) == (0, False)


@pytest.mark.parametrize("begin", TASKS)
def test_a_task_whose_window_closes_leaves_what_is_left_to_the_next(
    begin: Callable[[Path], Begun], tmp_path: Path
) -> None:
    world, context, shard, task = begin(tmp_path)
    world.limiter = Closed(world.clock.sleep, held=False)
    answer = task(shard, with_fields(context(), cut_short=True))
    assert (answer["cursor"], answer["done"]) == (0, False)


@pytest.mark.parametrize("begin", TASKS)
def test_a_task_that_begins_nothing_in_its_time_fails_and_is_tried_again(
    begin: Callable[[Path], Begun], tmp_path: Path
) -> None:
    world, context, shard, task = begin(tmp_path)
    world.limiter = Closed(world.clock.sleep, held=False)
    with pytest.raises(Transient, match=r"^none of \d entries could be .* in time$"):
        task(shard, context())


def test_what_was_not_looked_for_at_the_source_is_not_deleted(tmp_path: Path) -> None:
    world, context, shard, task = looked_for(tmp_path)
    world.limiter = Closed(world.clock.sleep, held=True)
    task(shard, context())
    mounts = TwoMounts(tmp_path, "run-1", world.store, world.clock)
    assert delete_shard(shard, with_fields(mounts.destination(), cut_short=True)) == {"cursor": 0, "done": False}
    assert (mounts.root / "extra").exists()


def test_a_task_of_blocks_ends_with_the_run_as_every_other(tmp_path: Path) -> None:
    mounts, shard = between(tmp_path, limits={"max_seconds": 3600})
    mounts.world.clock.time += 3600
    with pytest.raises(OutOfTime):
        digest_shard(with_fields(shard, blocks=(0, 1)), mounts.source())
