"""PaceCopy: watches the capacity of the file systems while CopyShards runs, and adjusts its pace.

It works for some minutes and says whether the Map has ended, so that a run of a day takes a hundred tasks. After two
days a growing pause follows each task, because each leaves events in the history of the execution. It learns of the end
from a note that EndPacing leaves, which it looks for every second or few, or else from the Map itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from msgspec import convert
from msgspec.structs import replace

from fanout.efs.load import Work
from fanout.efs.measure import measured_file_systems
from fanout.ledger import keys
from fanout.ledger.documents import Moment
from fanout.ledger.ledger import Ledger
from fanout.model.document import Json, utc
from fanout.model.errors import FanoutError, InvalidRequest
from fanout.model.file_system import Readings
from fanout.pacing.rows import PACING_PLAN, MountWork, PacingDecision, PacingPlan, decision, resumed, seen_of
from fanout.pacing.rule import (
    DECIDE_SECONDS,
    END_LATER_SECONDS,
    END_SECONDS,
    ExpectedEnd,
    Pacing,
    PacingLimits,
    decide,
    rest_seconds,
)
from fanout.pacing.start import entry_bytes_of, limits_of, paced_at_first, seen_at_first
from fanout.ports.pacing import MapRun, MapRuns
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.work.context import Context
from fanout.work.rates.in_force import limits_in_force
from fanout.work.rates.run_limits import PACED_RATE, PacedRate, RunLimits, minute_of

Answer = TypeVar("Answer")

LABEL = "CopyShards"
# Chosen. DescribeMapRun refills at 1/s for a whole account: one in so many seconds.
MAP_SECONDS = 30.0
FIRST_MAP_SECONDS = 15.0
# Chosen: less done of the whole says nothing of a speed.
LEAST_SHARE = 0.03


def end_pacing(context: Context) -> Json:
    """Note that the Map has ended."""
    context.ledger.write(keys.COPIED, Moment(context.clock.now()))
    return {"done": True}


def pace_copy(execution_arn: str, context: Context, maps: MapRuns) -> Json:
    """Pace until the Map has ended or the time is up; returns ``done``, or ``until`` when to go on.

    A failure to read or set a value is a note, not an error: the copy continues, as carefully as without a metric.
    Raises ``InvalidRequest`` for an execution that is not the plan's: its Map is another run's.
    """
    pacer = _Pacer(execution_arn, context, maps)
    planned = pacer.plan.origin.execution
    if planned not in ("", execution_arn):
        problem = f"{execution_arn[:200]} is not the execution of the run {context.ledger.run_id}"
        raise InvalidRequest("execution", problem, "start an execution of the state machine")
    deadline, began = context.deadline(), context.clock.now()
    next_map, next_decision = began + FIRST_MAP_SECONDS, pacer.last_decision + DECIDE_SECONDS
    while context.ledger.find(keys.COPIED) is None:
        now = context.clock.now()
        if now >= deadline.at:
            rest = rest_seconds(now - pacer.start.began)
            return {"done": False, "until": utc(now + rest) if rest else ""}
        if now >= next_map or now >= next_decision:
            pacer.look()
            next_map = now + MAP_SECONDS
            if pacer.map_run is not None and pacer.map_run.ended:
                return {"done": True}
        if now >= next_decision:
            pacer.decide()
            next_decision = now + DECIDE_SECONDS
        context.clock.sleep(END_SECONDS if now - began < DECIDE_SECONDS else END_LATER_SECONDS)
    return {"done": True}


class _Pacer:
    """The view of a task on the Map and the file systems."""

    def __init__(self, execution_arn: str, context: Context, maps: MapRuns) -> None:
        self.execution_arn, self.context, self.maps = execution_arn, context, maps
        self.map_run: MapRun | None = None
        self._decisions: list[PacingDecision] = []
        self._readings: dict[str, Readings] = {}
        self._problems: dict[str, str] = {}
        self._wanted: RunLimits | None = None
        ledger = context.ledger
        self.plan: Plan = ledger.read_plan()
        self.start = ledger.read(PACING_PLAN)
        self._speed_from = (self.start.began, 1.0)
        self.states = measured_file_systems(ledger)
        last, rate = last_decision(ledger), ledger.find(PACED_RATE)
        self.last_decision = self.start.began if last is None else last.at
        planned = Pacing(self.start.functions, None if rate is None else rate.bytes_per_second, self.start.began)
        self.pacing = resumed(planned, last)
        self._name = f"{keys.DECISIONS}{round(self.context.clock.now() * 1000)}-{self.context.nonce}.jsonl"

    def look(self) -> None:
        """Ask for the Map, if it is there by now."""
        found = self._tried("the Map could not be asked", lambda: self.maps.find(self.execution_arn, LABEL))
        if found is not None:
            self.map_run = found
            self.pacing = replace(self.pacing, concurrency=found.max_concurrency or self.pacing.concurrency)

    def decide(self) -> None:
        """Measure, decide, set, and note it."""
        now, run = self.context.clock.now(), self.map_run
        share_left = 1.0 if run is None else run.share_left
        seen = []
        for mount, found in self.start.mounts.items():
            left = found.metered * share_left
            state, readings = self.states[mount], self._read(mount, now)
            rate = self.pacing.bytes_per_second
            seen.append(seen_of(mount, state, readings, now, left, found.rate_per_metered, rate))
        throttled = self._throttled(now)
        after = decide(now, self.pacing, seen, throttled, self._limits(), self._expected_end(now, share_left))
        if after.concurrency != self.pacing.concurrency:
            self._speed_from = (now, share_left)
        write_rate(after, self.plan.request, self.context.ledger)
        if run is not None and after.concurrency != run.max_concurrency:
            self._tried("the Map could not be moved", lambda: self.maps.move(run.arn, after.concurrency))
        waiting, running = (0, 0) if run is None else (run.waiting, run.running)
        self._decisions.append(decision(now, self.pacing, after, seen, running, waiting, throttled))
        self.context.ledger.write_rows(self._name, self._decisions)
        self.pacing = after

    def _expected_end(self, now: float, share_left: float) -> ExpectedEnd | None:
        """The end of the copy at the speed since the last change, for a run that has to end by a time."""
        since, share = self._speed_from
        if self.start.copied_by is None or share - share_left < LEAST_SHARE:
            return None
        return ExpectedEnd(now + (now - since) * share_left / (share - share_left), self.start.copied_by)

    def _limits(self) -> PacingLimits:
        """The limits of the request, with a rate that was changed since."""
        limits = limits_of(self.plan.request, self.start.functions)
        self._wanted, problem = limits_in_force(self.context.ledger, self._wanted)
        if problem:
            self._note("limits", problem)
        return replace(limits, bytes_per_second=self._wanted.bytes_per_second)

    def _read(self, mount: str, now: float) -> Readings:
        """The readings of a file system, or the last ones that there were: they only grow older."""
        stack = self.context.stack
        file_system_id = stack.facts.file_systems.get(mount, "")
        found = self._tried(f"{mount} could not be measured", lambda: stack.meter.readings(file_system_id, now))
        if found is not None:
            self._readings[mount] = found
        return self._readings.get(mount, {})

    def _throttled(self, now: float) -> int:
        """Functions that were throttled in this minute and the one before."""
        ledger, minute = self.context.ledger, minute_of(now)
        return len({key for one in (minute - 1, minute) for key in ledger.keys(f"{keys.THROTTLED}{one:010d}/")})

    def _tried(self, problem: str, ask: Callable[[], Answer]) -> Answer | None:
        """Returns the requested value; notes a failure once for each kind."""
        try:
            return ask()
        except FanoutError as error:
            self._note(problem, f"{problem} ({type(error).__name__}: {error}); nothing more was risked")
            return None

    def _note(self, kind: str, problem: str) -> None:
        """Note a problem, once for each kind."""
        if kind not in self._problems:
            self._problems[kind] = problem
            self.context.ledger.note("pace", self._problems.values())


def last_decision(ledger: Ledger) -> PacingDecision | None:
    names = list(ledger.keys(keys.DECISIONS))
    return list(_read(names[-1], ledger))[-1] if names else None


def decisions(ledger: Ledger) -> list[PacingDecision]:
    """All decisions of the run, in their order."""
    return [one for name in ledger.keys(keys.DECISIONS) for one in _read(name, ledger)]


def _read(name: str, ledger: Ledger) -> Iterator[PacingDecision]:
    return ledger.read_rows_as(name, lambda row: convert(row, PacingDecision))


def begin_pacing(plan: Plan, work: Work, functions: int, context: Context, copied_by: float | None = None) -> int:
    """Write pacing/begun.json and, where credits are to be kept, pacing/rate.json; returns the functions at first.

    The credits are those of the plan, so this holds for a single shard too, which is not paced later.
    """
    seen = seen_at_first(plan.request, work, measured_file_systems(context.ledger))
    mounts = {one.mount: MountWork(one.metered_left, one.rate_per_metered) for one in seen}
    now = context.clock.now()
    pacing = paced_at_first(plan.request, seen, functions, now)
    context.ledger.write(PACING_PLAN, PacingPlan(pacing.concurrency, mounts, now, copied_by))
    write_rate(pacing, plan.request, context.ledger)
    return min(functions, pacing.concurrency)


def write_rate(pacing: Pacing, request: Request, ledger: Ledger) -> None:
    """Write pacing/rate.json where there is a rate, or was one."""
    if pacing.bytes_per_second is None and ledger.find(PACED_RATE) is None:
        return
    ledger.write(PACED_RATE, PacedRate(pacing.bytes_per_second, entry_bytes_of(request)))
