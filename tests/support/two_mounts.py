"""Two mounts, and the flow between them as the state machine carries it out: each step sees its own side alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from fanout.adapters.posix.tree import PosixTree
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.deleting.source_looks import look_at_directories, look_at_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.listing.gather_segments import gather_segments
from fanout.model.document import Json
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.ports.store import WorkStore
from fanout.ports.tree import Tree
from fanout.resuming.carry_over import list_or_carry_over
from fanout.resuming.look_there import list_or_look
from fanout.staging.digest_destination import digest_destination
from fanout.staging.pack_shard import pack_shard
from fanout.staging.roots import keep_out
from fanout.staging.unpack_shard import unpack_shard
from fanout.staging.unseen_tree import UnseenTree
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.verifying.begin_verification import begin_verification
from fanout.verifying.digest_shard import digest_shard
from fanout.verifying.verify_shard import verify_shard
from fanout.work.context import Context
from fanout.work.reference import run_reference
from tests.support.flow import ManualClock, World
from tests.support.memory_store import MemoryStore

REQUEST: Json = {"source": "efs://data/in", "destination": "efs://archive/out"}
Step = Callable[..., Json]


class TwoMounts:
    """The mounts ``data`` and ``archive`` below a directory, and runs between them."""

    def __init__(
        self,
        base: Path,
        run_id: str = "run-1",
        store: WorkStore | None = None,
        clock: ManualClock | None = None,
        remaining_seconds: float = 900.0,
        follow: bool = False,
    ) -> None:
        self.base, self.store, self.follow, self.run_id = base, store or MemoryStore(), follow, run_id
        for directory in (self.source_root, base / "archive"):
            directory.mkdir(parents=True, exist_ok=True)
        self.world = World(
            source=self.source_tree("s"),
            destination=self.destination_tree("d"),
            store=self.store,
            clock=clock or ManualClock(),
            run_id=run_id,
            remaining_seconds=remaining_seconds,
        )

    @property
    def source_root(self) -> Path:
        return self.base / "data" / "in"

    @property
    def root(self) -> Path:
        """The destination's."""
        return self.base / "archive" / "out"

    def source_tree(self, nonce: str) -> PosixTree:
        return PosixTree(self.base / "data", "in", self.run_id, nonce, "source", follow=self.follow)

    def destination_tree(self, nonce: str) -> PosixTree:
        return PosixTree(self.base / "archive", "out", self.run_id, nonce)

    def source(self) -> Context:
        """An attempt of a function that sees the source alone."""
        context = self.world.context()
        unseen: Tree = UnseenTree(context.ledger, context.nonce, "efs://archive/out")
        seen = context.source
        return replace(
            context,
            source=lambda plan: keep_out("source", seen(plan), plan, context.ledger),
            destination=lambda plan: unseen,
        )

    def destination(self) -> Context:
        """An attempt of a function that sees the destination alone."""
        context = self.world.context()
        unseen: Tree = UnseenTree(context.ledger, context.nonce, "efs://data/in")
        seen = context.destination
        return replace(
            context,
            source=lambda plan: unseen,
            destination=lambda plan: keep_out("destination", seen(plan), plan, context.ledger),
        )

    def neither(self) -> Context:
        """An attempt of a function that sees no mount."""
        return replace(self.source(), source=self.destination().source)

    def list_all(self, options: Json | None = None) -> Json:
        """PlanTransfer to PartitionShards; returns what the last one says."""
        state = plan_transfer(REQUEST | (options or {}), self.neither(), ("data", "archive"), 10, "work")
        check_mount(self.destination())
        check_mount(self.source())
        return self.list_rounds(state["list"])

    def list_rounds(self, reference: Json) -> Json:
        while reference["count"]:
            ledger = self.world.ledger
            for row in ledger.read_json(reference["key"].removeprefix(ledger.prefix)):
                list_or_look(convert(row, Segment), self.destination())
                list_or_carry_over(convert(row, Segment), self.source())
            reference = gather_segments(reference["round"], self.neither())
        return partition_shards(self.neither())

    def shards(self) -> list[Shard]:
        return [convert(row["shard"], Shard) for row in self.world.ledger.read_json("shards.json")]

    def copy_shard(self, shard: Shard) -> int:
        """The child workflow of CopyShards; returns how many functions it took."""
        step: Step = pack_shard
        if run_reference(self.world.ledger.read_plan(), self.world.ledger, "work")["digests"]:
            while not digest_destination(shard, self.destination())["done"]:
                pass
        for count in range(1, 1000):
            if step is pack_shard:
                pack_shard(shard, self.source())
                step = unpack_shard
                continue
            answer = unpack_shard(shard, self.destination())
            if answer["done"]:
                return count
            step = {"pack": pack_shard, "unpack": unpack_shard}[answer["next"]]
        raise AssertionError("the shard never ends")

    def copy_all(self) -> None:
        for shard in self.shards():
            self.copy_shard(shard)

    def verify_all(self) -> None:
        for shard in self.shards():
            while not digest_shard(shard, self.source())["done"]:
                pass
            while not verify_shard(shard, self.destination())["done"]:
                pass

    def delete_all(self) -> None:
        """BeginDeletion to RemoveDirectories: the source is looked at before each DeleteShard."""
        begin_deletion(self.neither())
        for row in self.world.ledger.read_json("deletions.json"):
            done = False
            while not done:
                look_at_shard(convert(row["shard"], Shard), self.source())
                done = delete_shard(convert(row["shard"], Shard), self.destination())["done"]
        while not look_at_directories(self.source())["done"]:
            pass
        while not remove_directories(self.destination())["done"]:
            pass

    def delete_moved(self) -> None:
        """BeginDeletion to RemoveDirectories of a move, at the source."""
        begin_deletion(self.neither())
        for row in self.world.ledger.read_json("deletions.json"):
            while not delete_shard(convert(row["shard"], Shard), self.source())["done"]:
                pass
        while not remove_directories(self.source())["done"]:
            pass

    def end(self, verify: str = "none") -> Any:
        """What follows the copy; returns summary.json."""
        if verify == "copied":
            self.verify_all()
        elif verify == "all":
            begun = begin_verification(self.neither(), "work")
            assert begun["run"]["apart"] == "verify"
            outer, self.world = self.world, dataclasses.replace(self.world, prefix=begun["run"]["prefix"])
            self.list_rounds(begun["list"])
            self.verify_all()
            if "moves" in begun["run"]:
                self.delete_moved()
            self.world = outer
        summarise_transfer(None, self.neither())
        summary = self.world.ledger.read_json("summary.json")
        assert summary["balanced"]
        return summary

    def run(self, options: Json | None = None) -> Any:
        """The whole flow; returns summary.json."""
        what = self.list_all(options)
        if what["next"] == "verify":
            self.verify_all()
        else:
            self.copy_all()
            finish_tree(self.destination(), deletes=what["extras"] > 0)
            assert self.staged() == []
            if what["extras"]:
                self.delete_all()
        return self.end(what["verify"])

    def staged(self) -> list[str]:
        return list(self.store.list("staged/"))

    def failures(self) -> dict[str, str]:
        return {row["path"]: row["reason"] for row in self.world.ledger.read_rows("failures.jsonl")}

    def next_run(self, run_id: str) -> TwoMounts:
        return TwoMounts(self.base, run_id, self.store, self.world.clock, follow=self.follow)
