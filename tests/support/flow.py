"""Runs over trees in memory, or others: the state machine is walked in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from fanout.adapters.given_tree import with_given_attributes
from fanout.flow.calls import StackSettings
from fanout.flow.steps import STEPS, functions_of, run_step
from fanout.flow.walker import Walker, never
from fanout.forecast.spending import hold_to_budget
from fanout.ledger.kept_store import KeptStore
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.ledger.sealing import RunSeal, find_seal, sealed_for
from fanout.model.document import Json
from fanout.ports.aws import Entered, Execution, ExecutionReader, Signer
from fanout.ports.checksum_jobs import ChecksumJobs
from fanout.ports.limiter import NO_LIMITS, TaskLimiter
from fanout.ports.pacing import Account
from fanout.ports.s3_services import ObjectArchive, S3Services
from fanout.ports.store import WorkStore
from fanout.ports.tree import EntryCopier, Tree
from fanout.request.parts.allowed_attributes import StackAllows, allowed_for
from fanout.request.parts.limits import FunctionSize
from fanout.request.plan import Plan
from fanout.turns.write_turn import WriteTurns
from fanout.work.context import Context, EndPorts, StackFacts, StackPorts, WayOut, bucket_owner_enforced
from fanout.work.mount_owners import own_user
from fanout.work.processes.crew import Crew
from fanout.work.reference import run_reference
from fanout.work.roots import keep_out
from tests.support.attempts import attempt_of
from tests.support.definitions import definition
from tests.support.memory import MemoryTree
from tests.support.memory_meter import MemoryMeter
from tests.support.memory_store import MemoryObjects, MemoryStore

ACCOUNT = "123456789012"
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
class GivenServices(S3Services):
    """The services of S3 in a world."""

    world: World

    def archive(self, plan: Plan) -> ObjectArchive | None:
        return self.world.archive if plan.request.brings_back else None

    def checksum_jobs(self, plan: Plan) -> ChecksumJobs | None:
        return self.world.checksum_jobs


class AnyRequest:
    """Equal to each request: of an execution that was started with what its function is given."""

    def __eq__(self, other: object) -> bool:
        """Always."""
        return True

    __hash__ = None  # type: ignore[assignment]


@dataclass
class OwnExecution:
    """The executions of a run: its own, and nothing is known of others."""

    name: str
    machine: str = ""
    runs: bool = True
    input: Any = field(default_factory=AnyRequest)

    def running(self, execution: str) -> bool:
        """Whether it is its own, and runs."""
        return self.runs and execution.endswith(self.name)

    def find(self, execution: str) -> Execution:
        """Its own, whatever its ARN is."""
        return Execution(self.machine, self.name, self.runs, self.input)

    def entered(self, execution: str) -> Entered:
        """It is at each state that asks, with what that was given."""
        return Entered(AnyRequest(), AnyRequest())  # type: ignore[arg-type]


@dataclass
class World:
    """Two trees, a ledger, a clock, and runs over them; ``entered`` are the states that were entered.

    ``short``: runs that may go the short way do.
    """

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
    checksum_jobs: ChecksumJobs | None = None
    limiter: TaskLimiter = NO_LIMITS
    objects: MemoryObjects = field(default_factory=MemoryObjects)
    meter: MemoryMeter = field(default_factory=MemoryMeter)
    file_system_ids: Json = field(default_factory=dict)
    prices: Json = field(default_factory=dict)
    account: Account | None = None
    reserved_concurrency: int = 0
    signer: Signer | None = None
    turns: WriteTurns | None = None
    own_execution: ExecutionReader | None = None
    forks: bool = False
    crew: Crew | None = None
    access_points: Json = field(default_factory=dict)
    function: FunctionSize = field(default_factory=FunctionSize)
    allows: StackAllows = field(default_factory=StackAllows)
    way_out: WayOut = WayOut.NONE
    regions: dict[str, str] = field(default_factory=dict)
    roles: tuple[str, ...] = ()
    ownership: Callable[[Plan], str] = bucket_owner_enforced
    mounts: tuple[str, ...] = ("data",)
    entered: list[str] = field(default_factory=list)
    short: bool = False
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
            tree = keep_out("source", self.source, plan, self.ledger)
            allowed, own = allowed_for(plan.request, self.allows), own_user(self.ledger)
            return with_given_attributes(tree, plan.request.attributes, allowed, own)

        def destination(plan: Plan) -> Tree:
            if isinstance(self.destination, MemoryTree):
                self.destination.is_mount = not plan.request.destination.is_keyed
            return keep_out("destination", self.destination, plan, self.ledger)

        seal = self.seal()
        ends = EndPorts(
            source=source,
            destination=destination,
            copier=lambda _plan: self.copier,
            forks=lambda _plan: self.forks,
            far_buckets=lambda buckets: {one: self.regions[one] for one in buckets if one in self.regions},
            ownership=self.ownership,
            objects=lambda _plan: self.objects,
            s3_services=GivenServices(self),
        )
        facts = StackFacts(
            prices=self.prices,
            reserved_concurrency=self.reserved_concurrency,
            function=self.function,
            mounts=self.mounts,
            file_systems=self.file_system_ids,
            access_points=self.access_points,
            computes_checksums=self.checksum_jobs is not None,
            region="us-east-1",
            way_out=self.way_out,
            roles=self.roles,
            account_id=ACCOUNT,
        )
        return attempt_of(
            sealed_for(STEPS[state].seals, seal.prefix, self.ledger) if seal else self.ledger,
            self.clock,
            self.remaining_seconds,
            next(self.nonces),
            ends,
            StackPorts(
                facts=facts,
                meter=self.meter,
                account=self.account,
                executions=self.own_execution or OwnExecution(self.run_id),
                crew=self.crew,
                hold_to_budget=hold_to_budget,
            ),
            limiter=self.limiter,
            turns=self.turns,
            signer=self.signer,
        )

    def seal(self) -> RunSeal | None:
        """The seal of a run that is to be certified."""
        return find_seal(self.ledger)

    def walker(self) -> Walker:
        """Of the run's execution; an error goes through."""
        execution = {"Id": self.execution, "Name": self.run_id}
        return Walker(definition(), self.task, self.rows, self.clock, execution, never, entered=self.enter)

    def walk(self, start: str, data: Any, *stops: str) -> tuple[str, Any]:
        """Walk the machine from a state until one of ``stops`` or the end."""
        return self.walker().walk(start, data, stops)

    def enter(self, state: str) -> None:
        """A state begins."""
        self.entered.append(state)

    def task(self, function: str, event: Json) -> Any:
        """Carry out the step that an event names."""
        name = event["step"]
        if name in ("PaceCopy", "EndPacing"):  # no Map runs here
            return {"run": event["run"], "shards": event["shards"], "done": True, "until": ""}
        step, world = STEPS[name], self
        if step.run_id is None:
            world = copy(self)
            world.prefix = event["run"]["prefix"]
        context = world.context_of(function, step.acts_as or name)
        stack = StackSettings(self.mounts, 10, "work", begin=world.walks(function) if step.walks else None)
        answer = step.answers(event, run_step(step, event, context, stack))
        if name == "PlanTransfer" and not self.short:
            answer.get("run", {}).pop("short", None)
        return answer

    def walks(self, function: str) -> Callable[[str], AbstractContextManager[Context]]:
        """Begins the steps that one function walks through, on one kept ledger."""
        inside = copy(self)
        inside.store = KeptStore(self.store, run_prefix(self.run_id))
        return lambda state: nullcontext(inside.context_of(function, state))

    def context_of(self, _function: str, state: str) -> Context:
        """A new attempt of a state, in a function by its name in the template."""
        return self.context(state)

    def rows(self, _bucket: str, key: str) -> Any:
        """The items of a Map."""
        ledger = Ledger(self.store, self.run_id)
        return ledger.read_json(key.removeprefix(ledger.prefix))

    def state(self, **more: Any) -> Json:
        """The data that states hand on: the reference to the ledger, and more."""
        plan = self.ledger.read_plan()
        offered = definition()["States"]["PlanTransfer"]["Parameters"]["Payload"]["functions"]
        functions = functions_of(plan, self.mounts, offered)
        return {"run": {**run_reference(plan, self.ledger, "work"), "functions": functions}, **more}

    def shards(self, key: str = "shards.json") -> Json:
        """What PartitionShards hands on of a list of shards."""
        key = f"{self.ledger.prefix}{key}"
        return {"key": key, "copies": key, "count": 1, "max_concurrency": 1, "archived": 0, "paced": False}

    def plan(self, request: Json | None = None) -> Json:
        """PlanTransfer and CheckMount."""
        state: Json = self.walk("PlanTransfer", request or REQUEST, "Skipped", "OtherMount?")[1]
        return state

    def list_all(self, state: Json) -> Json:
        """Rounds of ListTree until nothing is left; returns the last reference."""
        reference: Json = self.walk("OneSegment?", self.state(list=state["list"]), "PartitionShards")[1]["gathered"][
            "list"
        ]
        return reference

    def copy_all(self) -> None:
        """PartitionShards, RestoreObjects where something is archived, and CopyShards, each shard until it is done."""
        self.walk("PartitionShards", self.state(), "FinishTree", "SummariseTransfer", "VerifyShards")

    def copy_listed(self, key: str) -> None:
        """CopyShards of a list, each shard until it is done."""
        self.walk("CopyInPace", self.state(shards=self.shards(key)), "CopyBroke?")

    def finish_all(self, *, deletes: bool = False) -> int:
        """FinishTree until everything is finished, and FinishShards between; returns how many FinishTree it took."""
        self.entered.clear()
        self.walk("FinishTree", self.state(shards={"extras": int(deletes)}), "AnyExtras?")
        return self.entered.count("FinishTree")

    def verify_all(self) -> None:
        """VerifyShards, each shard until it is done."""
        self.walk("VerifyShards", self.state(shards=self.shards()), "ToDelete?")

    def verify_trees(self) -> None:
        """BeginVerification and what follows, in the ledger inside the run's."""
        self.walk("BeginVerification", self.state(), "ToPublish?")

    def run(self, request: Json | None = None) -> Json:
        """The whole flow; returns summary.json."""
        self.walk("PlanTransfer", request or REQUEST, "TransferSucceeded?")
        return self.summary()

    def delete_all(self) -> None:
        """BeginDeletion, DeleteShards and RemoveDirectories, each until it is done."""
        self.walk("BeginDeletion", self.state(), "WhatToVerify?")

    def end(self, verify: str = "none") -> Json:
        """What follows the copy; returns summary.json."""
        if verify != "none":
            {"copied": self.verify_all, "all": self.verify_trees}[verify]()
        self.walk("SummariseTransfer", self.state(), "TransferSucceeded?")
        return self.summary()

    def summary(self) -> Json:
        """summary.json."""
        summary: Json = self.ledger.read_json("summary.json")
        return summary

    def next_run(self, run_id: str) -> World:
        """Another run over the same trees."""
        return replace(self, run_id=run_id)
