"""Whole runs that are held to a window as the frame of the handlers does, with Wait states that move the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from msgspec import convert

from fanout.copying.copy_shard import copy_shard
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.divide import FinishShard
from fanout.finishing.finish_shard import finish_shard
from fanout.finishing.finish_tree import finish_tree, unfinished
from fanout.listing.gather_segments import gather_segments
from fanout.listing.hand_back import hand_segment_back
from fanout.model.document import Json
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.resuming.carry_over import list_or_carry_over
from fanout.verifying.verify_shard import verify_shard
from fanout.work.context import Context
from fanout.work.windows import held_to_window, paused_until
from tests.support.flow import World

TASKS = 1_000
"""More tasks than any state here takes until it is done."""


class Killed(BaseException):
    """The function ends in the middle of a task; the state machine starts it again."""


def not_done(_context: Context) -> Json:
    """Hands back a task of which nothing is to be noted."""
    return {"done": False}


@dataclass
class WindowedWorld(World):
    """A world whose tasks heed the window of the request."""

    window: str = ""
    pauses: list[str] = field(default_factory=list)
    at_work: bool = False
    tasks: list[tuple[float, float]] = field(default_factory=list)
    """When each task that was not paused began and ended."""

    def task(self, work: Callable[[Context], Json], hand_back: Callable[[Context], Json]) -> Json:
        """A task and its retries, and the Wait state after it."""
        for _ in range(TASKS):
            began, self.at_work = self.clock.time, True
            try:
                answer = held_to_window(self.window, self.context(), work, hand_back)
            except Killed:
                continue
            finally:
                self.at_work = False
            if not answer["until"]:
                self.tasks.append((began, self.clock.time))
            return answer
        raise AssertionError("the task never ends")

    def wait(self, until: str) -> None:
        """A Wait state."""
        if until:
            self.pauses.append(until)
            self.clock.time = max(self.clock.time, datetime.fromisoformat(until).timestamp())

    def until_done(self, work: Callable[[Context], Json]) -> None:
        """A loop of the state machine: a task, what it says to wait for, and the next one."""
        for _ in range(TASKS):
            answer = self.task(work, not_done)
            if answer["done"]:
                return
            self.wait(answer["until"])
        raise AssertionError("never done")

    def list_all(self, state: Json) -> Json:
        """Rounds of ListTree until nothing is left; returns the last reference."""
        reference: Json = state["list"]
        while reference["count"]:
            for row in self.ledger.read_json(reference["key"].removeprefix(self.ledger.prefix)):
                segment = convert(row, Segment)
                self.task(
                    lambda step, one=segment: list_or_carry_over(one, step),  # type: ignore[misc]
                    lambda step, one=segment: hand_segment_back(one, step),  # type: ignore[misc]
                )
            reference = gather_segments(reference["round"], self.context())
            if reference["count"]:
                self.wait(paused_until(self.window, self.clock.time))
        return reference

    def copy_all(self) -> None:
        """PartitionShards and CopyShards, each shard until it is done."""
        partition_shards(self.context())
        for row in self.ledger.read_json("shards.json"):
            shard = convert(row["shard"], Shard)
            self.until_done(lambda step, one=shard: copy_shard(one, step))  # type: ignore[misc]

    def finish_all(self, *, deletes: bool = False) -> int:
        """FinishTree until everything is finished; returns how many tasks it took."""
        mapped = -1
        for number in range(1, TASKS):
            answer = self.task(
                lambda step, at=mapped: finish_tree(step, deletes=deletes, mapped=at),  # type: ignore[misc]
                lambda _, at=mapped: unfinished(at),  # type: ignore[misc]
            )
            if answer["done"]:
                return number
            self.wait(answer["until"])
            self.finish_round(answer)
            mapped = answer["round"]
        raise AssertionError("the tree is never finished")

    def finish_round(self, answer: Json) -> None:
        """FinishShards, each shard until it is done."""
        rows = self.ledger.read_json(answer["key"].removeprefix(self.ledger.prefix)) if answer["count"] else []
        for row in rows:
            shard = convert(row["shard"], FinishShard)
            self.until_done(lambda step, one=shard: finish_shard(one, step))  # type: ignore[misc]

    def verify_all(self) -> None:
        """VerifyShards, each shard until it is done."""
        for row in self.ledger.read_json("shards.json"):
            shard = convert(row["shard"], Shard)
            self.until_done(lambda step, one=shard: verify_shard(one, step))  # type: ignore[misc]

    def delete_all(self) -> None:
        """BeginDeletion, DeleteShards and RemoveDirectories, each until it is done."""
        begin_deletion(self.context())
        for row in self.ledger.read_json("deletions.json"):
            shard = convert(row["shard"], Shard)
            self.until_done(lambda step, one=shard: delete_shard(one, step))  # type: ignore[misc]
        self.until_done(remove_directories)
