"""The facts of PlanTransfer, which it asks before it writes a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from fanout import __version__
from fanout.efs.calibration import Calibration, creations_of, rates_of
from fanout.efs.calibrations import read_calibrations
from fanout.efs.measure import MeasuredFileSystems, measure_file_systems
from fanout.listing.index.earlier_index import find_named_index
from fanout.model.checksum import engine
from fanout.model.document import Json
from fanout.model.file_system import Behind
from fanout.model.segment import Segment
from fanout.planning.behind_mounts import find_behind, leave_own_names_out
from fanout.planning.check_ends import check_ends, naming
from fanout.planning.far_buckets import find_far
from fanout.planning.first_round import first_round, versions_read
from fanout.planning.quota import find_quota, within_quota
from fanout.ports.tree import ReadTree
from fanout.request.parse import check_prices, parse_request
from fanout.request.plan import Origin, Plan
from fanout.request.request import Request, request_at
from fanout.resuming.earlier_run import ResumedRun, find_earlier_run
from fanout.turns.waiting import asked_at
from fanout.work.context import Context, StackFacts
from fanout.work.facts import Facts, asked


class PlanEvent(Struct, frozen=True):
    """The event of a plan, and the stack's parameters: see ``plan_transfer``."""

    document: Any
    mounts: tuple[str, ...]
    max_concurrency: int
    bucket: str
    functions: Callable[[Plan], Json]
    execution: str


class PlanFacts(Facts):
    """The facts of a plan; ``of_mounts``, ``of_quota`` and ``measured`` are notes that come with them."""

    def __init__(self, event: PlanEvent, context: Context) -> None:
        super().__init__(more=2)  # the lists of up to two turns
        self.event, self.context = event, context
        self.began = context.clock.now()
        self.of_mounts: list[str] = []
        self.of_quota: list[str] = []
        self.measured: list[str] = []

    def ahead(self) -> None:
        """Begin to ask everything, the lists of the turns included."""
        super().ahead()
        if self.context.turns is not None:
            self.context.turns.look_ahead(self.parsed.written_ends, self._pool)

    @asked
    def earlier(self) -> ResumedRun | None:
        """The run to resume."""
        return find_earlier_run(self.event.document, self.context.ledger)

    @property
    def carried(self) -> ResumedRun | None:
        """The run to resume, if its listing and outcomes are taken over."""
        return self.earlier if self.request.course.carries_over else None

    @asked
    def parsed(self) -> Request:
        """The request, with the stack's prices where it names none."""
        deployed, earlier = self.context.stack.facts, self.earlier
        request = parse_request(self.document, self.event.mounts, self.event.max_concurrency, deployed.function)
        request = with_prices_of(deployed, request)
        return request_at(request, earlier.ages_from_ns if earlier else int(self.began * 1e9))

    @asked
    def quota(self) -> int | None:
        """The most functions at once."""
        return find_quota(self.context, self.of_quota)

    @asked
    def behind(self) -> dict[str, Behind]:
        """The places behind the mounts."""
        return find_behind(self.parsed, self.context, self.of_mounts)

    @asked
    def request(self) -> Request:
        """The request as it is carried out."""
        return leave_own_names_out(self.parsed, self.behind, self.of_mounts)

    @asked
    def near(self) -> Plan:
        """The plan as far as it is known without the buckets' regions and the calibrations."""
        resumes = self.earlier.resumes if self.earlier else ()
        return Plan(self.context.ledger.run_id, self.request, rates_of(self.request, {}), resumes)

    @asked
    def named_index(self) -> tuple[str, Exception | None]:
        """The run whose index this run uses."""
        return find_named_index(self.near, self.context.ledger)

    @asked
    def near_ends(self) -> Mapping[str, ReadTree]:
        """Checks the ends in buckets of the stack's region, of a run that assumes no role."""
        return {} if self.near.request.assumed[0] else check_ends(self.near, self.context, on_mount=False)

    @asked
    def calibrations(self) -> tuple[Mapping[str, Calibration], list[str]]:
        """The calibrations by mount, with notes."""
        return read_calibrations(self.parsed, self.context)

    @asked
    def file_systems(self) -> MeasuredFileSystems:
        """The figures of the file systems."""
        known, _ = self.calibrations
        return measure_file_systems(self.request, self.context, known, self.behind, self.measured)

    @asked
    def asked_at(self) -> float:
        """When the run asked for its turn first."""
        return asked_at(self.context.ledger, self.began)

    @asked
    def regions(self) -> dict[str, str]:
        """The regions of the buckets that are not in the stack's."""
        return find_far(self.parsed, self.context)

    @asked
    def sums(self) -> None:
        """Loads what sums, before the first write waits for it."""
        engine()

    @asked
    def plan(self) -> Plan:
        """The plan, but for the quota."""
        near, (known, _) = self.near, self.calibrations
        return replace(
            near,
            rates=rates_of(near.request, known),
            creations_per_second=creations_of(near.request, known),
            began=self.began,
            origin=Origin(self.event.execution, self.event.bucket, __version__),
            move_began=self._move_began,
            behind=self.behind,
            asked=self.asked_at,
            regions=self.regions,
        )

    @cached_property
    def functions(self) -> Json:
        """The functions that see a mount, by their states."""
        return self.event.functions(self.plan)

    @cached_property
    def ends(self) -> Mapping[str, ReadTree]:
        """Checks the ends in buckets; of those in other regions, or with a role, the plan says how they are reached."""
        if self.plan.request.assumed[0] or self.plan.regions:
            return check_ends(self.plan, self.context, on_mount=False)
        return self.near_ends

    @cached_property
    def pieces(self) -> list[Segment]:
        """The first round. A run that takes over the listing of another one makes it once it has its turn."""
        with naming("manifest"):
            return [] if self.carried else first_round(self.plan.request, self.context.ends.objects(self.plan))

    @property
    def document(self) -> Any:
        """The request as it was asked for, completed from the run that it resumes."""
        return self.earlier.document if self.earlier else self.event.document

    @property
    def read_once(self) -> str:
        """Names what the run reads once: see ``Turns.take``."""
        return self.carried.read_once if self.carried else versions_read(self.pieces)

    def within_quota(self) -> Plan:
        """The plan with the quota, and with no more functions than that."""
        plan = replace(self.plan, quota=self.quota)
        return replace(plan, request=within_quota(plan.request, self.quota, self.context, self.of_quota))

    @property
    def _move_began(self) -> float | None:
        if not self.request.course.deletes_proven:
            return None
        earlier = self.earlier
        return self.began if earlier is None or earlier.plan.move_began is None else earlier.plan.move_began


def with_prices_of(deployed: StackFacts, request: Request) -> Request:
    """The request with the stack's prices where it names none. Raises ``InvalidRequest`` for a wrong one of them."""
    check_prices("Prices", deployed.prices)
    return replace(request, prices={**deployed.prices, **request.prices})
