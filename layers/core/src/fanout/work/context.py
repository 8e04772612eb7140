"""The context that every use case receives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger.ledger import Ledger
from fanout.model.deadline import Deadline
from fanout.model.errors import InvalidRequest, NotFound, OutOfTime, Unreachable
from fanout.model.file_system import Behind, Described, Readings
from fanout.model.location import Location
from fanout.ports.aws import Entered, Execution, ExecutionReader, Meter, ObjectFound, ObjectReader, Signer
from fanout.ports.clock import Clock
from fanout.ports.file_system import FileSystem
from fanout.ports.limiter import NO_LIMITS, TaskLimiter
from fanout.ports.pacing import Account
from fanout.ports.s3_services import S3Services
from fanout.ports.tree import DeletingTree, EntryCopier, ReadTree, Tree, WriteTree
from fanout.ports.turns import Turns
from fanout.request.parts.limits import FunctionSize
from fanout.request.plan import Plan
from fanout.work.processes.crew import Crew


class WayOut(StrEnum):
    """The runs that reach it, as the template's parameter WayOut says.

    A gateway endpoint of S3, which is all that the network of a mount needs, leads to its own region alone. Between two
    buckets functions outside the network work; those on mounts need another way, such as a NAT gateway.
    """

    NONE = "none"
    BUCKETS = "buckets"
    MOUNTS = "mounts"

    def reaches(self, *, inside_s3: bool) -> bool:
        """Whether a run between two buckets, or else one with a mount, has a way out of the region."""
        return self is WayOut.MOUNTS or (inside_s3 and self is WayOut.BUCKETS)


def nothing(*_: object) -> None:
    """No adapter: no copier, nothing to release, no budget to hold."""


def never(*_: object) -> bool:
    """False: two names are two buckets; trees hold connections, or live in this process alone."""
    return False


def refuse_unseen(end: Location) -> InvalidRequest:
    """The refusal of a function that needs an end on a mount that it lacks."""
    return InvalidRequest("run.functions", f"this function does not see {end}", "start it from the state machine")


_Tree = TypeVar("_Tree")


def _seen(tree: _Tree | None, end: Location) -> _Tree:
    if tree is None:
        raise refuse_unseen(end)
    return tree


def bucket_owner_enforced(_plan: Plan) -> str:
    """The bucket's account owns what anybody writes there."""
    return "BucketOwnerEnforced"


class NoObjects:
    """An ``ObjectReader`` of a place that holds nothing."""

    def find(self, bucket: str, key: str) -> ObjectFound:
        raise NotFound(f"s3://{bucket}/{key}")

    def lists(self, bucket: str, key: str) -> bool:
        return False

    def read(self, bucket: str, key: str, etag: str, offset: int, length: int) -> bytes:
        raise NotFound(f"s3://{bucket}/{key}")


class NoMeter:
    """A ``Meter`` where there is nothing to ask."""

    def describe(self, file_system_id: str) -> Described:
        raise Unreachable(f"nothing here can ask about {file_system_id}")

    def readings(self, file_system_id: str, now: float) -> Readings:
        raise Unreachable(f"nothing here can ask about {file_system_id}")

    def shows(self, access_point: str) -> Behind:
        raise Unreachable(f"nothing here can ask about {access_point}")


class NoExecutions:
    """An ``ExecutionReader`` where there are none, so that nothing is planned."""

    def find(self, execution: str) -> Execution:
        raise NotFound(execution)

    def entered(self, execution: str) -> Entered:
        raise NotFound(execution)


class StackFacts(Struct, frozen=True, kw_only=True):
    """The parameters of a stack that use cases ask for; ``runtime.settings.Settings`` has them and more.

    - ``prices`` are the stack's own dollars for forecasts, by the names of ``fanout.facts.prices``, unless a request
      names others. ``function`` is the functions' size.
    - ``reserved_concurrency``: how many of each function that runs many times are reserved, 0 for none.
    - ``computes_checksums``: the stack has a role for jobs of S3 Batch Operations.
    - ``mounts`` are the stack's, in their order; ``file_systems`` their ids, by mount, and ``access_points`` the ARNs
      of their access points. The plan notes which kinds of file systems are behind these. A mount without an id is not
      measured.
    - ``region`` is the stack's, and ``way_out`` which runs reach another one, or assume one of ``roles``.
    - ``account_id`` is the account that the stack is in, empty where that is not known.
    - ``state_machine`` is the ARN of the one that the function belongs to.
    """

    prices: Mapping[str, float] = field(default_factory=dict)
    reserved_concurrency: int = 0
    function: FunctionSize = FunctionSize()
    mounts: Collection[str] = ()
    file_systems: Mapping[str, str] = field(default_factory=dict)
    access_points: Mapping[str, str] = field(default_factory=dict)
    computes_checksums: bool = False
    region: str = ""
    way_out: WayOut = WayOut.NONE
    roles: tuple[str, ...] = ()
    account_id: str = ""
    state_machine: str = ""


SourceOf = Callable[[Plan], DeletingTree | None]
DestinationOf = Callable[[Plan], Tree | None]


class EndPorts(Struct, frozen=True, kw_only=True):
    """The source and the destination of a run, and what connects them.

    - The trees are made on first use, because most tasks need one or none; ``None`` on a mount that this function does
      not see. ``copier`` copies if one store holds both trees. ``release`` closes the trees when the task ends: the
      process may run the next task.
    - ``forks``: whether both trees are mounts.
    - ``is_one_bucket`` tells by an upload of a key, begun at the destination, whether the source's bucket is the same.
    - ``far_buckets`` tells the regions of those buckets that are not in the stack's. ``ownership`` tells the Object
      Ownership of the destination's bucket.
    - ``check_sessions`` raises ``InvalidRequest`` if a function could have no session of the role that a plan names.
    - ``objects`` reads the manifest of a plan. ``s3_services`` are what S3 does by itself for a run.
    """

    source: SourceOf
    destination: DestinationOf
    copier: Callable[[Plan], EntryCopier | None] = nothing
    release: Callable[[], None] = nothing
    forks: Callable[[Plan], bool] = never
    is_one_bucket: Callable[[Plan, str], bool] = never
    far_buckets: Callable[[Iterable[str]], dict[str, str]] = lambda _buckets: {}
    ownership: Callable[[Plan], str] = bucket_owner_enforced
    check_sessions: Callable[[Plan], None] = nothing
    objects: Callable[[Plan], ObjectReader] = lambda _plan: NoObjects()
    s3_services: S3Services = field(default_factory=S3Services)


class StackPorts(Struct, frozen=True, kw_only=True):
    """The stack that the function belongs to, or this machine.

    - ``meter`` measures the file systems of its mounts. ``account`` tells how many functions may run at once.
    - ``executions`` reads those of the state machine: a plan is made only for one that runs.
    - ``processors`` are those of the function: it divides a copy to or from a bucket among so many processes, as each
      of them signs, parses and sums. ``crew`` makes them; without it the task goes with one process.
    - ``hold_to_budget`` raises ``OutOfBudget`` where the run has spent what its request gives it.
    """

    facts: StackFacts = field(default_factory=StackFacts)
    meter: Meter = field(default_factory=NoMeter)
    account: Account | None = None
    executions: ExecutionReader = field(default_factory=NoExecutions)
    processors: int = 1
    crew: Crew | None = None
    hold_to_budget: Callable[[Plan, Context], None] = nothing


class Context(Struct, frozen=True, kw_only=True):
    """An attempt of a task, with all that a use case needs.

    - ``ends_at``: when the function is ended, in seconds since 1970. ``nonce`` tells this attempt's files from those of
      every other attempt.
    - ``cut_short``: whether the window of the run closes before that, so that another task goes on when it opens.
    - ``limiter`` holds the task to the run's rates. ``turns`` keeps two runs from writing to one tree at the same time.
    - ``signer`` signs certificates; ``None`` where the stack has no key for them.
    """

    ledger: Ledger
    clock: Clock
    ends_at: float
    nonce: str
    ends: EndPorts
    stack: StackPorts = field(default_factory=StackPorts)
    limiter: TaskLimiter = NO_LIMITS
    turns: Turns | None = None
    signer: Signer | None = None
    cut_short: bool = False

    def source(self, plan: Plan) -> ReadTree:
        """The tree that the run reads. Raises ``InvalidRequest`` on a mount that this function does not see."""
        return _seen(self.ends.source(plan), plan.request.source)

    def destination(self, plan: Plan) -> WriteTree:
        """The tree that the run writes; raises as ``source``."""
        return _seen(self.ends.destination(plan), plan.request.destination)

    def deleted_from(self, plan: Plan) -> DeletingTree:
        """The tree that the run deletes from: the source of a move, else the destination; raises as ``source``."""
        if plan.moves:
            return _seen(self.ends.source(plan), plan.request.source)
        return _seen(self.ends.destination(plan), plan.request.destination)

    def seen_source(self, plan: Plan) -> ReadTree | None:
        """The source; ``None`` on a mount that this function does not see."""
        return self.ends.source(plan)

    def seen_destination(self, plan: Plan) -> WriteTree | None:
        """The destination; ``None`` as above."""
        return self.ends.destination(plan)

    def source_files(self, plan: Plan) -> FileSystem | None:
        """The file system of the source; ``None`` for a bucket, and on a mount that this function does not see."""
        tree = self.ends.source(plan)
        return tree.file_system if tree is not None else None

    def destination_files(self, plan: Plan) -> FileSystem | None:
        """The file system of the destination; ``None`` as above."""
        tree = self.ends.destination(plan)
        return tree.file_system if tree is not None else None

    def with_trees(self, source: SourceOf, destination: DestinationOf) -> Context:
        """This attempt with other trees."""
        return replace(self, ends=replace(self.ends, source=source, destination=destination))

    def deadline(self) -> Deadline:
        """The deadline of work that begins now; it leaves time to write what was done."""
        left = self.ends_at - self.clock.now()
        return Deadline(self.clock.now, self.ends_at - min(tuning.DEADLINE_RESERVE_SECONDS, left / 3))

    def within(self, plan: Plan) -> Context:
        """This attempt, which ends when the run does if that is earlier.

        Raises ``OutOfTime`` if it is over, and ``OutOfBudget`` if the run has spent its dollars.
        """
        self.stack.hold_to_budget(plan, self)
        ends_at, most = plan.ends_at, plan.request.limits.max_seconds
        if ends_at is None or most is None:
            return self
        if self.clock.now() >= ends_at:
            raise OutOfTime(most)
        return replace(self, ends_at=min(self.ends_at, ends_at))

    def leaves(self, size: int) -> bool:
        """Whether an entry for which there was no time is left to the next task, which has more of it."""
        return self.cut_short or self.limiter.cut_off(size)

    @property
    def is_held_back(self) -> bool:
        """Whether a rate or the window may be why a task got nothing done."""
        return self.cut_short or self.limiter.holds()

    def begin(self, phase: str) -> None:
        self.ledger.begin(phase, self.clock.now())
