"""A run that has ended, compared with itself at other settings: functions, a throughput mode, memory, a rate.

Taken as they were: the listing, what follows the copy, the waits of failed attempts, what others use of a file system.
What the pacing would do to the number of functions is not replayed; the rate that keeps burst credits is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from fanout.efs.capacity import FileSystemState
from fanout.efs.measure import measured_file_systems
from fanout.facts.tuning import FUNCTION_MEGABYTES
from fanout.forecast.document import by_service
from fanout.forecast.phases import PHASES
from fanout.forecast.spending import dollars_done, done_so_far
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.errors import InvalidRequest
from fanout.pacing.pace_copy import decisions
from fanout.pacing.rows import PacingDecision
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.shards.tasks.attempts import attempts_by_shard
from fanout_cli.estimates.whatif.recorded import (
    SpeedLimits,
    alone,
    jobs_of,
    most_at_once,
    seconds_between,
    tasks_of,
)
from fanout_cli.estimates.whatif.replay import replay

FUNCTIONS = "functions"
# Runs that cannot be replayed, and why.
NOT_REPLAYED: tuple[tuple[Callable[[Request], bool], str], ...] = (
    (lambda request: not request.course.copies, "copies nothing"),
    (lambda request: bool(request.limits.window), "worked in a window of hours, whose pauses are in its seconds"),
    *((phase.runs, phase.waits) for phase in PHASES if phase.waits),
)


class OtherSettings(Struct, frozen=True):
    """The settings that are asked for; ``None`` for what stays. ``states`` turns a file system's state into another."""

    functions: int | None = None
    megabytes: int | None = None
    bytes_per_second: int | None = None
    state: Callable[[FileSystemState], FileSystemState] | None = None


class WhatIfRun(Struct, frozen=True):
    """A run: most functions at once, seconds of the copy and in all, dollars by service, what bound it, its credits."""

    functions: int
    copy_seconds: float
    seconds: float
    dollars: dict[str, float]
    bound: str
    credits_bytes: dict[str, float]


class WhatIf(Struct, frozen=True):
    """The run as it was and as it would be. ``replayed_seconds`` is its copy replayed at its own settings."""

    run: str
    happened: WhatIfRun
    would: WhatIfRun
    replayed_seconds: float
    notes: list[str]


class _Told(Struct, frozen=True):
    actual_seconds: dict[str, float]
    actual_dollars: dict[str, float] | None


class _Summary(Struct, frozen=True):
    forecast: _Told | None = None


def what_if(ledger: Ledger, other: OtherSettings) -> WhatIf:
    """Raises ``InvalidRequest`` for a run that has not ended, or that cannot be replayed."""
    plan, (seconds, dollars) = ledger.read_plan(), _ended(ledger)
    for applies, why in NOT_REPLAYED:
        if applies(plan.request):
            raise InvalidRequest(ledger.run_id, f"the run {why}", "name a run without that")
    tasks = tasks_of(attempts_by_shard("copy", ledger))
    if not tasks:
        raise InvalidRequest(ledger.run_id, "the run copied nothing", "name a run that did")
    known = measured_file_systems(ledger)
    was = SpeedLimits(plan.request, known)
    states = known if other.state is None else {name: other.state(one) for name, one in known.items()}
    would = SpeedLimits(_request(plan, other), states)
    functions, all_of_it = most_at_once(tasks), sum((one.worked for one in tasks), Count())
    began, ended = tasks[0].spans[0][0], max(one.spans[-1][1] for one in tasks)
    decided = decisions(ledger)
    paced = tuple((one.at - began, one.bytes_per_second) for one in decided)
    between, found = seconds_between(tasks, functions), alone(tasks, replace(was, paced=paced), plan.rates)
    again = replay(jobs_of(tasks, found.seconds, was), functions, was.bounds(all_of_it), between)
    most = other.functions or functions
    new = replay(jobs_of(tasks, found.seconds, would), most, would.bounds(all_of_it), between)
    happened = WhatIfRun(
        functions,
        round(ended - began, 3),
        round(sum(seconds.values()), 3),
        dollars,
        _binding(found.reached, ended - began),
        _credits(decided),
    )
    done = done_so_far(plan, ledger, ended)
    more = sum(one.seconds for one in tasks)
    later = replace(
        done,
        task_seconds=done.task_seconds - more + new.function_seconds,
        copying_seconds=new.seconds,
    )
    before = by_service(dollars_done(plan, done, ledger))
    after = by_service(dollars_done(replace(plan, request=would.request), later, ledger, would.states))
    names = [name for name in happened.dollars if name in before or name in after]
    changed = {name: happened.dollars[name] + after.get(name, 0.0) - before.get(name, 0.0) for name in names}
    return WhatIf(
        ledger.run_id,
        happened,
        WhatIfRun(
            most,
            round(new.seconds, 3),
            round(happened.seconds - happened.copy_seconds + new.seconds, 3),
            {name: round(cost, 6) for name, cost in (happened.dollars | changed).items()},
            _binding(new.bound_seconds, new.seconds),
            {name.removeprefix("throughput of "): round(left) for name, left in new.credits.items()},
        ),
        round(again.seconds, 3),
        [*_notes(other, found.held, bool(known))],
    )


def _ended(ledger: Ledger) -> tuple[dict[str, float], dict[str, float]]:
    """The run's seconds by phase and its dollars by service."""
    found = ledger.find(keys.SUMMARY.of(_Summary))
    if found is None:
        raise InvalidRequest(ledger.run_id, "the run has not ended, or has no summary", "name a run that has ended")
    if found.forecast is None or not found.forecast.actual_dollars:
        raise InvalidRequest(ledger.run_id, "the run broke off before it had a forecast", "name one that went on")
    return found.forecast.actual_seconds, found.forecast.actual_dollars


def _request(plan: Plan, other: OtherSettings) -> Request:
    request, limits = plan.request, plan.request.limits
    if other.megabytes is not None:
        request = replace(request, function=replace(request.function, megabytes=other.megabytes))
    if other.bytes_per_second is not None:
        limits = replace(limits, bytes_per_second=other.bytes_per_second)
    return replace(request, limits=limits)


def _binding(seconds: Mapping[str, float], whole: float) -> str:
    """The bound that was reached longest, if that is half of the time; else the functions themselves."""
    name = max(seconds, key=lambda one: seconds[one], default="")
    return name if name and seconds[name] >= whole / 2 else FUNCTIONS


def _credits(decided: Sequence[PacingDecision]) -> dict[str, float]:
    systems = decided[-1].file_systems if decided else []
    return {f"efs://{one.mount}/": one.credits_bytes for one in systems if one.credits_bytes is not None}


def _notes(other: OtherSettings, held: float, measured: bool) -> list[str]:
    found = []
    if held:
        found.append(
            f"a bound that all share held {held:.0%} of the shards: how fast functions are without it is the plan's"
            " prediction, corrected by the other shards"
        )
    if not measured:
        found.append("no file system was measured: none is taken to bind")
    if other.megabytes is not None:
        less = f"; below {FUNCTION_MEGABYTES:,} MB a function has less than a processor, and may be slower"
        less = less if other.megabytes < FUNCTION_MEGABYTES else ""
        found.append(f"memory is taken to change dollars alone, since copies wait for the network{less}")
    return found
