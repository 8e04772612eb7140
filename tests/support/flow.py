"""The state machine's flow as plain calls, for tests that need no engine: same steps, same order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import convert

from fanout.adapters.given_tree import with_given_attributes
from fanout.copying.copy_shard import copy_shard
from fanout.deleting.begin_deletion import begin_deletion
from fanout.deleting.delete_shard import delete_shard
from fanout.deleting.remove_directories import remove_directories
from fanout.finishing.divide import FinishShard
from fanout.finishing.finish_shard import finish_shard
from fanout.finishing.finish_tree import finish_tree
from fanout.forecast.spending import hold_to_budget
from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import find_seal, sealed_for
from fanout.listing.gather_segments import gather_segments
from fanout.model.document import Json
from fanout.model.segment import Segment
from fanout.model.shard import Shard
from fanout.partition.partition_shards import partition_shards
from fanout.planning.check_mount import check_mount
from fanout.planning.plan_transfer import plan_transfer
from fanout.ports.aws import ObjectArchive, Signer
from fanout.ports.copying import EntryCopier
from fanout.ports.limiter import NO_LIMITS, TaskLimiter
from fanout.ports.pacing import Account
from fanout.ports.store import WorkStore
from fanout.ports.tree import Tree
from fanout.request.parts.allowed_attributes import StackAllows, allowed_for
from fanout.request.plan import Plan
from fanout.restoring.restore_objects import restore_objects
from fanout.resuming.carry_over import list_or_carry_over
from fanout.summary.summarise_transfer import summarise_transfer
from fanout.turns.write_turn import WriteTurns
from fanout.verifying.begin_verification import begin_verification
from fanout.verifying.verify_shard import verify_shard
from fanout.work.context import Context
from tests.support.memory import MemoryTree
from tests.support.memory_meter import MemoryMeter
from tests.support.memory_store import MemoryObjects, MemoryStore

REQUEST: Json = {"source": "s3://a-bucket/tree/", "destination": "efs:///copy"}


class ManualClock:
    """A clock that moves when it is told to, or by ``step`` seconds each time it is read."""

    def __init__(self, step: float = 0.0) -> None:
        self.time = 1_000_000.0
        self.step = step

    def now(self) -> float:
        """Seconds since 1970."""
        self.time += self.step
        return self.time

    def sleep(self, seconds: float) -> None:
        """Move on."""
        self.time += seconds


@dataclass
class World:
    """Two trees, a ledger, a clock, and the flow over them."""

    changes: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    source: Tree = None  # type: ignore[assignment]
    destination: Tree = None  # type: ignore[assignment]
    store: WorkStore = field(default_factory=MemoryStore)
    clock: ManualClock = field(default_factory=ManualClock)
    run_id: str = "run-1"
    executions: str = ""
    prefix: str = ""
    remaining_seconds: float = 900.0
    copier: EntryCopier | None = None
    archive: ObjectArchive | None = None
    limiter: TaskLimiter = NO_LIMITS
    objects: MemoryObjects = field(default_factory=MemoryObjects)
    meter: MemoryMeter = field(default_factory=MemoryMeter)
    file_system_ids: Json = field(default_factory=dict)
    prices: Json = field(default_factory=dict)
    account: Account | None = None
    reserved_concurrency: int = 0
    signer: Signer | None = None
    turns: WriteTurns | None = None
    forks: bool = False
    mounts_s3_files: bool = False
    allows: StackAllows = field(default_factory=StackAllows)
    nonces: Any = field(default_factory=lambda: (f"n{number}" for number in itertools.count()))

    def __post_init__(self) -> None:
        """Trees in memory that share their time, unless others are given."""
        self.source = self.source or MemoryTree(self.changes)
        self.destination = self.destination or MemoryTree(self.changes)

    @property
    def execution(self) -> str:
        """The run's execution: its ARN where ``executions`` is that of others without their names, else its name."""
        return f"{self.executions}:{self.run_id}" if self.executions else self.run_id

    @property
    def ledger(self) -> Ledger:
        """The run's ledger."""
        return Ledger(self.store, self.run_id, self.prefix)

    def context(self, state: str = "VerifyShard") -> Context:
        """A new attempt of a state."""

        def source(plan: Plan) -> Tree:
            if isinstance(self.source, MemoryTree):
                self.source.is_mount = not plan.request.source.is_keyed
            return with_given_attributes(self.source, plan.request.attributes, allowed_for(plan.request, self.allows))

        def destination(plan: Plan) -> Tree:
            if isinstance(self.destination, MemoryTree):
                self.destination.is_mount = not plan.request.destination.is_keyed
            return self.destination

        def entry_copier(_plan: Plan) -> EntryCopier | None:
            return self.copier

        deadline = self.clock.time + self.remaining_seconds
        seal = find_seal(self.ledger)
        return Context(
            sealed_for(state, seal.prefix, self.ledger) if seal else self.ledger,
            self.clock,
            deadline,
            next(self.nonces),
            source,
            destination,
            entry_copier,
            archive=lambda plan: self.archive if plan.request.restores_archived else None,
            objects=lambda _request: self.objects,
            meter=self.meter,
            file_system_ids=self.file_system_ids,
            prices=self.prices,
            account=self.account,
            reserved_concurrency=self.reserved_concurrency,
            signer=self.signer,
            turns=self.turns,
            forks=lambda _: self.forks,
            limiter=self.limiter,
            hold_to_budget=hold_to_budget,
            mounts_s3_files=self.mounts_s3_files,
        )

    def plan(self, request: Json | None = None) -> Json:
        """PlanTransfer and CheckMount."""
        state = plan_transfer(request or REQUEST, self.context(), ("data",), 10, "work", execution=self.execution)
        if "holder" in state:
            return state
        check_mount(self.context())
        return state

    def list_all(self, state: Json) -> Json:
        """Rounds of ListTree until nothing is left; returns the last reference."""
        reference: Json = state["list"]
        while reference["count"]:
            for row in self.ledger.read_json(reference["key"].removeprefix(self.ledger.prefix)):
                list_or_carry_over(convert(row, Segment), self.context())
            reference = gather_segments(reference["round"], self.context())
        return reference

    def copy_all(self) -> None:
        """PartitionShards, RestoreObjects where something is archived, and CopyShards, each shard until it is done."""
        shards = partition_shards(self.context())
        while shards["archived"]:
            shards = self.restore(shards)
            if shards["step"] == "wait":
                self.clock.sleep(shards["wait"])
            elif shards["step"] == "copy":
                self.copy_listed(shards["copies"].removeprefix(self.ledger.prefix))
        if not shards["restores"]:
            self.copy_listed("shards.json")

    def restore(self, shards: Json) -> Json:
        """RestoreObjects, which goes on where the one before it was."""
        return {**shards, **restore_objects(shards["restores"], self.context())}

    def copy_listed(self, key: str) -> None:
        """CopyShards of a list, each shard until it is done."""
        for row in self.ledger.read_json(key):
            shard = convert(row["shard"], Shard)
            for _ in range(1000):
                if copy_shard(shard, self.context("CopyShard"))["done"]:
                    break
            else:
                raise AssertionError("the shard never ends")

    def finish_all(self, *, deletes: bool = False) -> int:
        """FinishTree until everything is finished, and FinishShards between; returns how many FinishTree it took."""
        mapped = -1
        for number in range(1, 1000):
            answer = finish_tree(self.context("FinishTree"), deletes=deletes, mapped=mapped)
            if answer["done"]:
                return number
            self.finish_round(answer)
            mapped = answer["round"]
        raise AssertionError("the tree is never finished")

    def finish_round(self, answer: Json) -> None:
        """FinishShards, each shard until it is done; nothing where FinishTree goes on by itself."""
        rows = self.ledger.read_json(answer["key"].removeprefix(self.ledger.prefix)) if answer["count"] else []
        for row in rows:
            shard = convert(row["shard"], FinishShard)
            for _ in range(1000):
                if finish_shard(shard, self.context("FinishShard"))["done"]:
                    break
            else:
                raise AssertionError("the shard never ends")

    def verify_all(self) -> None:
        """VerifyShards, each shard until it is done."""
        for row in self.ledger.read_json("shards.json"):
            shard = convert(row["shard"], Shard)
            for _ in range(1000):
                if verify_shard(shard, self.context())["done"]:
                    break
            else:
                raise AssertionError("the shard never ends")

    def verify_trees(self) -> None:
        """BeginVerification and what follows, in the ledger inside the run's."""
        reference = begin_verification(self.context(), "work")
        inner = replace(self, prefix=reference["run"]["prefix"])
        inner.list_all(reference)
        partition_shards(inner.context())
        inner.verify_all()
        if "moves" in reference["run"]:
            inner.delete_all()

    def run(self, request: Json | None = None) -> Json:
        """The whole flow; returns summary.json."""
        self.list_all(self.plan(request))
        what = partition_shards(self.context())
        if what["next"] == "verify":
            self.verify_all()
        elif what["next"] != "plan":
            self.copy_all()
            self.finish_all(deletes=what["extras"] > 0)
            if what["extras"]:
                self.delete_all()
        return self.end(what["verify"])

    def delete_all(self) -> None:
        """BeginDeletion, DeleteShards and RemoveDirectories, each until it is done."""
        begin_deletion(self.context("BeginDeletion"))
        for row in self.ledger.read_json("deletions.json"):
            while not delete_shard(convert(row["shard"], Shard), self.context("DeleteShard"))["done"]:
                pass
        while not remove_directories(self.context("RemoveDirectories"))["done"]:
            pass

    def end(self, verify: str = "none") -> Json:
        """What follows the copy; returns summary.json."""
        if verify == "copied":
            self.verify_all()
        elif verify == "all":
            self.verify_trees()
        summarise_transfer(None, self.context("SummariseTransfer"))
        summary: Json = self.ledger.read_json("summary.json")
        return summary

    def next_run(self, run_id: str) -> World:
        """Another run over the same trees."""
        return replace(self, run_id=run_id)
