"""Two mounts, and runs between them: each step sees the mount of its function alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import convert

from fanout.adapters.posix.tree import PosixTree
from fanout.flow.steps import STEPS
from fanout.flow.walker import Walker, never
from fanout.model.document import Json
from fanout.model.shard import Shard
from fanout.ports.store import WorkStore
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.work.context import Context
from fanout.work.roots import keep_out
from tests.support.definitions import definition
from tests.support.flow import ManualClock, World
from tests.support.memory_store import MemoryStore

REQUEST: Json = {"source": "efs://data/in", "destination": "efs://archive/out"}
MOUNTED = frozenset(step.function for step in STEPS.values() if step.mount)


_Tree = TypeVar("_Tree", bound=ReadTree)


def kept_out(context: Context, field: str, seen: Callable[[Plan], _Tree | None]) -> Callable[[Plan], _Tree | None]:
    """The tree of an end as a function has it, which enters no root of the other end."""

    def tree(plan: Plan) -> _Tree | None:
        found = seen(plan)
        return None if found is None else keep_out(field, found, plan, context.ledger)

    return tree


class Sides(World):
    """A world whose functions see one of its ends, or none."""

    def source_seen(self, state: str = "VerifyShard") -> Context:
        """An attempt of a function that sees the source alone."""
        context = self.context(state)
        return context.with_trees(kept_out(context, "source", context.ends.source), lambda _plan: None)

    def destination_seen(self, state: str = "VerifyShard") -> Context:
        """An attempt of a function that sees the destination alone."""
        context = self.context(state)
        return context.with_trees(lambda _plan: None, kept_out(context, "destination", context.ends.destination))

    def neither_seen(self, state: str = "VerifyShard") -> Context:
        """An attempt of a function that sees no mount."""
        return self.context(state).with_trees(lambda _plan: None, lambda _plan: None)

    def context_of(self, function: str, state: str) -> Context:
        """The second mount's functions see the destination, the first one's the source."""
        if function.startswith("Second"):
            return self.destination_seen(state)
        return self.source_seen(state) if function in MOUNTED else self.neither_seen(state)


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
        self.world = Sides(
            source=self.source_tree("s"),
            destination=self.destination_tree("d"),
            store=self.store,
            clock=clock or ManualClock(),
            run_id=run_id,
            remaining_seconds=remaining_seconds,
            mounts=("data", "archive"),
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
        return self.world.source_seen()

    def destination(self) -> Context:
        """An attempt of a function that sees the destination alone."""
        return self.world.destination_seen()

    def neither(self) -> Context:
        """An attempt of a function that sees no mount."""
        return self.world.neither_seen()

    def list_all(self, options: Json | None = None) -> Json:
        """PlanTransfer to PartitionShards; returns what the last one says."""
        shards: Json = self.world.walk("PlanTransfer", REQUEST | (options or {}), "WhatToDo?")[1]["shards"]
        return shards

    def list_rounds(self, reference: Json) -> Json:
        """The listing from its first round on, and PartitionShards; returns what that says."""
        shards: Json = self.world.walk("OneSegment?", self.world.state(list=reference), "WhatToDo?")[1]["shards"]
        return shards

    def shards(self) -> list[Shard]:
        return [convert(row["shard"], Shard) for row in self.world.ledger.read_json("shards.json")]

    def copy_shard(self, shard: Shard) -> int:
        """The child workflow of CopyShards; returns how many functions it took."""
        [copying, _] = definition()["States"]["CopyInPace"]["Branches"]
        flow, entered = copying["States"]["CopyShards"]["ItemProcessor"], list[str]()
        world = self.world
        walker = Walker(flow, world.task, world.rows, world.clock, {}, never, entered=entered.append)
        [row] = [row for row in world.ledger.read_json("shards.json") if row["shard"]["id"] == shard.id]
        walker.run({**world.state(), "shard": row["shard"], "cursor": 0})
        return entered.count("PackShard") + entered.count("UnpackShard")

    def copy_all(self) -> None:
        self.world.copy_listed("shards.json")

    def verify_all(self) -> None:
        self.world.verify_all()

    def delete_all(self) -> None:
        """BeginDeletion to RemoveDirectories: the source is looked at before each DeleteShard."""
        self.world.delete_all()

    def end(self, verify: str = "none") -> Any:
        """What follows the copy; returns summary.json."""
        summary = self.world.end(verify)
        assert summary["balanced"]
        return summary

    def run(self, options: Json | None = None) -> Any:
        """The whole flow; returns summary.json."""
        ends = "TransferSucceeded?"
        name, data = self.world.walk("PlanTransfer", REQUEST | (options or {}), "AnyExtras?", ends)
        if name != ends:
            assert self.staged() == []
            self.world.walk(name, data, ends)
        summary = self.world.summary()
        assert summary["balanced"]
        return summary

    def staged(self) -> list[str]:
        return list(self.store.list("staged/"))

    def failures(self) -> dict[str, str]:
        return {row["path"]: row["reason"] for row in self.world.ledger.read_rows("failures.jsonl")}

    def next_run(self, run_id: str) -> TwoMounts:
        return TwoMounts(self.base, run_id, self.store, self.world.clock, follow=self.follow)
