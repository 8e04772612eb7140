"""Runs whose states each have the rights of their deployed roles, over the ledger and over ends in S3."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace as with_fields

from fanout.flow.walker import StateFailed, Walker, by_class
from fanout.ledger.ledger import Ledger
from fanout.ledger.sealing import RunSeal, find_seal
from fanout.model.document import Json
from fanout.model.location import S3Location
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.turns.write_turn import WriteTurns
from fanout.work.context import Context
from tests.functions.kinds_of_runs import WORK
from tests.functions.test_roles import CONDITIONS, PARAMETERS
from tests.support.actions import Need
from tests.support.definitions import definition
from tests.support.flow import World
from tests.support.iam import Given
from tests.support.publishing import PublishingWorld
from tests.support.rights import STATE_MACHINE, Asking, AskingCopier, AskingTree, Rights
from tests.support.two_mounts import Sides
from tests.template.templates import functions

# What the role of the state machine names besides.
_OF_OTHERS = ("Checksums", "FirstMount", "Outside", "Pacing", "SecondMount")
_NAMES = {f"{name}.Arn": name for name in functions()} | {
    f"{stack}.Outputs.{name}Arn": f"{stack}{name}" for stack in _OF_OTHERS for name in functions()
}
_NAMES |= {"WorkBucket.Arn": PARAMETERS["WorkBucketArn"], "AWS::StackName": "fanout"}
RIGHTS = Rights(Given(_NAMES | PARAMETERS, CONDITIONS), WORK)


# Hours of a run that are over.
CLOSED = "03:00-03:30 UTC"


class Edge(NamedTuple):
    """A way from one state to the next: of ``how`` it is next, choice or catch."""

    state: str
    following: str
    how: str
    compares: bool = False
    """Whether the ledger inside the run's was handed on."""


class Broken(Exception):
    """The cause that a test gives to a state; no retry names it."""


@dataclass
class Break:
    """The tasks of a state that fail, before their work or after it: the first one, a later one, or each.

    ``items NAME`` is the reading of a Map's items, ``short STATE`` a state inside the short way. A task that ``acts``,
    or whose window is ``closed``, does not fail; the task ``again`` comes at once after one that had no time.
    """

    state: str
    after: bool = False
    compares: bool = False
    """Whether it is the task in the ledger inside the run's."""
    always: bool = False
    error: Exception = field(default_factory=lambda: Broken("the cause"))
    act: Callable[[], None] | None = None
    closed: bool = False
    again: bool = False
    has_hit: bool = False

    def hits(self, state: str, prefix: str) -> bool:
        """Whether this task is the one."""
        found = state == self.state and ("/verification/" in prefix) is self.compares
        found = found and (self.always or not self.has_hit)
        self.has_hit = self.has_hit or found
        return found


@dataclass(frozen=True)
class WatchedWalker(Walker):
    """A walker that notes each way that it goes."""

    edges: set[Edge] = field(default_factory=set)
    broke: set[str] = field(default_factory=set)

    def _result(self, state: Json, data: Any, context: Json) -> Any:
        name = context["State"]["Name"]
        try:
            result = super()._result(state, data, context)
        except StateFailed:
            self.broke.add(name)
            raise
        self.broke.discard(name)
        return result

    def _state(self, state: Json, data: Any, context: Json) -> tuple[str | None, Any]:
        name = context["State"]["Name"]
        following, after = super()._state(state, data, context)
        if following is not None:
            how = "choice" if state["Type"] == "Choice" else "catch" if name in self.broke else "next"
            prefix = data.get("run", {}).get("prefix", "") if isinstance(data, dict) else ""
            self.edges.add(Edge(name, following, how, prefix.endswith("/verification/")))
        return following, after


def _ask_at(asking: Asking, action: str, place: S3Location, path: str) -> None:
    asking.ask(action, place.bucket, place.prefix + path)


class Executions:
    """The executions that are running."""

    def __init__(self) -> None:
        self.at_work: set[str] = set()

    def running(self, execution: str) -> bool:
        """See ``ports.turns.Executions``."""
        return execution in self.at_work


@dataclass
class Deployed(World):
    """A world under the rights of a stack: ``denied`` is each permission that a role lacked, ``edges`` each way taken.

    A state's error is caught as the machine says. ``breaks`` are tasks that fail. ``ended`` is the error with which an
    execution failed.
    """

    role: str = ""
    denied: list[tuple[str, Need]] = field(default_factory=list)
    edges: set[Edge] = field(default_factory=set)
    breaks: list[Break] = field(default_factory=list)
    executing: Executions = field(default_factory=Executions)
    ended: StateFailed | None = None
    plain: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plain = self.store
        if self.turns is None:
            self.turns = WriteTurns(self.plain, self.executing, self.clock, self.mounts)

    def walker(self, failure: Any = by_class) -> Walker:
        """See ``World``; a state's error is the machine's to catch."""
        given = super().walker()
        return WatchedWalker(
            *(given.definition, given.invoke, given.read, given.clock, given.execution, failure),
            entered=given.entered,
            edges=self.edges,
        )

    def run(self, request: Json | None = None) -> Json:
        """The whole flow; returns summary.json, or nothing where the run left none."""
        self.executing.at_work.add(self.execution)
        try:
            self.walker().run(request)
        except StateFailed as error:
            self.ended = error
        self.executing.at_work.discard(self.execution)
        return self.summary() if self.ledger.has("summary.json") else {}

    def task(self, function: str, event: Json) -> Any:
        """A task with the rights of the function's role."""
        inner = copy(self)
        inner.role = function
        inner.store = inner.asking.store(self.plain)
        assert self.turns is not None
        inner.turns = with_fields(self.turns, store=inner.store)
        broken = self.breaking(event["step"], event.get("run", {}).get("prefix", ""))
        if broken and broken.act:
            broken.act()
        elif broken and (broken.closed or broken.again):
            event = {**event, "run": {**event["run"], "window": CLOSED}}
        elif broken and not broken.after:
            raise broken.error
        answer = super(Deployed, inner).task(function, event)
        if broken and broken.after:
            raise broken.error
        if broken and broken.again:
            answer["until"] = ""
            answer.get("run", {}).pop("window", None)
        return answer

    def breaking(self, state: str, prefix: str = "") -> Break | None:
        """The accident of a task, if it has one."""
        return next((one for one in self.breaks if one.hits(state, prefix)), None)

    @property
    def asking(self) -> Asking:
        """The role at work."""
        return Asking(RIGHTS, self.role, self.denied)

    def walks(self, function: str) -> Callable[[str], AbstractContextManager[Context]]:
        """See ``World``; the error of a state that breaks is the walking function's."""
        begin = super().walks(function)

        def breaking(state: str) -> AbstractContextManager[Context]:
            broken = self.breaking(f"short {state}")
            if broken:
                raise broken.error
            return begin(state)

        return breaking

    def context(self, state: str = "VerifyShard") -> Context:
        """See ``World``; ends in S3 ask what the role may do there."""
        context = super().context(state)
        if not self.role:
            return context

        def asked(end: str, tree: Callable[[Plan], Tree]) -> Callable[[Plan], Any]:
            def seen(plan: Plan) -> Any:
                place, found = getattr(plan.request, end), tree(plan)
                if not isinstance(place, S3Location):
                    return found
                return AskingTree(found, self.asking, place.bucket, place.prefix)

            return seen

        def copier(plan: Plan) -> Any:
            found, ends = context.ends.copier(plan), {"s3:GetObject": "source", "s3:PutObject": "destination"}
            places = [(action, getattr(plan.request, end)) for action, end in ends.items()]
            asks = [partial(_ask_at, self.asking, action, place) for action, place in places]
            return None if found is None else AskingCopier(found, *asks)

        trees = {end: asked(end, getattr(context, end)) for end in ("source", "destination")}
        return with_fields(context, ends=with_fields(context.ends, **trees, copier=copier))

    def seal(self) -> RunSeal | None:
        """The run's seal, which a state's event names."""
        return find_seal(Ledger(self.plain, self.run_id))

    def rows(self, bucket: str, key: str) -> Any:
        """The items of a Map, read by the state machine."""
        broken = self.breaking(f"items {key.rpartition('/')[2]}", key.rpartition("/")[0] + "/")
        if broken:
            raise broken.error
        Asking(RIGHTS, STATE_MACHINE, self.denied).ask("s3:GetObject", WORK, key)
        return super().rows(bucket, key)

    def next_run(self, run_id: str) -> Any:
        """Another run over the same trees."""
        return replace(self, run_id=run_id, breaks=[], ended=None, turns=self.turns)


@dataclass
class DeployedSides(Deployed, Sides):
    """Between two mounts below ``base``, each function sees one."""

    base: Path = field(default_factory=Path)


@dataclass
class DeployedPublishing(Deployed, PublishingWorld):
    """Runs that publish."""


def edges_of(machine: Json) -> Iterator[Edge]:
    """Every way of a machine, also inside of its Maps and branches."""
    for name, state in machine["States"].items():
        for rule in state.get("Choices", ()):
            yield Edge(name, rule["Next"], "choice")
        if "Default" in state:
            yield Edge(name, state["Default"], "choice")
        if "Next" in state:
            yield Edge(name, state["Next"], "next")
        for catcher in state.get("Catch", ()):
            yield Edge(name, catcher["Next"], "catch")
        inside = [*state.get("Branches", ()), *(state[word] for word in ("ItemProcessor",) if word in state)]
        for one in inside:
            yield from edges_of(one)


def all_edges() -> set[Edge]:
    """Every way of a transfer's machine."""
    return set(edges_of(definition()))
