"""Counts the dollars of a run from its ledger, and stops its tasks where they reach ``limits.max_dollars``.

A task counts before it works. The count is kept for ``COUNT_SECONDS``, so that of thousands of tasks that begin at the
same time one reads the ledger. What a task has done counts from its end on, its seconds from its begin on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from msgspec.structs import replace

from fanout.checksums.progress import computing_asked
from fanout.efs import load
from fanout.efs.capacity import FileSystemState, assumed_state, merged
from fanout.efs.measure import measured_file_systems
from fanout.efs.phase_cost import WorkDone, together
from fanout.facts.prices import prices_with
from fanout.forecast.costs import Dollars, dollars_of, metering_dollars
from fanout.forecast.forecast import NOT_MEASURED
from fanout.forecast.overhead import overhead_of_run
from fanout.forecast.phases import ONCE
from fanout.forecast.way import ListingWalk, way_of
from fanout.ledger import keys
from fanout.ledger.documents import Spending
from fanout.ledger.ledger import Ledger
from fanout.model.books import Count
from fanout.model.errors import BudgetRefused, OutOfBudget
from fanout.request.plan import Plan
from fanout.shards.held import asked_back
from fanout.shards.round_records import rounds_done
from fanout.shards.sizes import groups_of
from fanout.shards.tasks.attempt import Attempt
from fanout.shards.tasks.attempts import attempts_by_shard
from fanout.work.context import Context
from fanout.work.rates.run_limits import PACED_RATE

# Chosen: seconds for which a count is kept. Counting lists two records a task, a thousand in a request.
COUNT_SECONDS = 20.0


def hold_to_budget(plan: Plan, context: Context) -> None:
    """Raise ``OutOfBudget`` if the run has spent its ``limits.max_dollars``. Without such a limit it asks nothing."""
    most = plan.request.limits.max_dollars
    if most is None:
        return
    ledger, now = context.ledger.whole_run(), context.clock.now()
    found = ledger.find(keys.SPENDING)
    if found is None or (found.dollars < most and now - found.counted_at >= COUNT_SECONDS):
        known = 0.0 if found is None else found.dollars
        ledger.write(keys.SPENDING, Spending(known, now))  # tasks that begin meanwhile need not count
        whole = ledger.read_plan() if context.ledger.is_verification else plan
        found = Spending(spent_dollars(whole, ledger, now).total, now)
        ledger.write(keys.SPENDING, found)
    if found.dollars >= most:
        raise OutOfBudget(found.dollars, most)


def refuse_over_budget(plan: Plan, forecast: float, ledger: Ledger) -> None:
    """Raise ``BudgetRefused`` if the forecast is over the limit; a plan, which spends no more, only notes it."""
    most = plan.request.limits.max_dollars
    if most is None or forecast <= most:
        return
    refused = BudgetRefused(forecast, most)
    if not plan.request.course.plans:
        raise refused
    ledger.note("budget", [f"a copy or a sync would be refused: {refused}"])


def over_budget(plan: Plan, ledger: Ledger, now: float) -> OutOfBudget | None:
    """The error of a run that has spent its ``limits.max_dollars``; ``None`` of any other."""
    most = plan.request.limits.max_dollars
    if most is None:
        return None
    spent = spent_dollars(plan, ledger, now).total
    return OutOfBudget(spent, most) if spent >= most else None


def spent_dollars(plan: Plan, ledger: Ledger, now: float) -> Dollars:
    """The dollars of a run so far, in seconds since 1970; what it deleted is not among them."""
    return dollars_done(plan, done_so_far(plan, ledger, now), ledger)


def done_so_far(plan: Plan, ledger: Ledger, now: float) -> WorkDone:
    """The work that the tasks of a run have done.

    The work of a task that has not ended is not known: its seconds count, at most those of a function.
    """
    copied, compared = (_AttemptSums(now, plan.request.function.seconds) for _ in range(2))
    copied.add(_attempts("copy", ledger))
    compared.add(_attempts("verify", ledger))
    compared.add(_attempts("verify", ledger.verification()))
    is_copy = not plan.request.course.compares
    return WorkDone(
        listed=sum(one.listed.entries for one in rounds_done(ledger)),
        moved=copied.worked if is_copy else compared.worked,
        verified=compared.worked if is_copy else Count(),
        deleted=0,
        tasks=copied.number + compared.number,
        task_seconds=copied.seconds + compared.seconds,
        copying_seconds=max(0.0, copied.ended - copied.began) if copied.number else 0.0,
        tasks_after=compared.number if is_copy else 0,
        seconds_after=compared.seconds if is_copy else 0.0,
    )


def dollars_done(
    plan: Plan, done: WorkDone, ledger: Ledger, known: Mapping[str, FileSystemState] | None = None
) -> Dollars:
    """The dollars of work that was done, with the listing's rounds and segments as the ledger holds them.

    Prices and operations are those of the forecast; this is not a bill. Each task counts as a shard does. The pacing
    of the copy and the deletion of extras are those of the forecast. The way of the run is that of its own listing and
    copy: other functions verify after it.
    """
    request = plan.request
    rounds = [*rounds_done(ledger)]
    after = [*rounds_done(ledger.verification())] if request.verifies_after.whole_trees else []
    segments, heads = sum(one.segments for one in rounds), sum(one.heads for one in (*rounds, *after))
    sizes, there = groups_of(one.sizes for one in rounds), sum((one.destination for one in rounds), Count())
    directories = None if request.source.is_keyed else load.directories_in(done.listed, sizes)
    work = load.Work(done.listed, done.moved.entries, done.moved.bytes, done.tasks - done.tasks_after, 0.0)
    compared = there if load.reads_before_copying(request) else Count()
    work = replace(work, there=there.entries, compared=compared, sizes=sizes, directories=directories)
    listing = ListingWalk(len(rounds), segments, segments, 0.0, sum(one.seconds for one in rounds))
    loads, known = load.loads_of(request, work), measured_file_systems(ledger) if known is None else known
    states = {mount: known.get(mount) or assumed_state(NOT_MEASURED) for mount in loads}
    price = prices_with(request.prices)
    again = sum(one.segments for one in after)
    done = replace(done, rounds=len(after), segments=again, heads=heads, asked_back=asked_back(ledger))
    done = replace(done, regions=plan.regions, sizes=sizes, directories=directories)
    if request.computes_checksums:
        done = replace(done, computed=computing_asked(ledger))
    added = together(phase.spent(request, done, price) for phase in ONCE)
    requests = load.requests_of(request, work, segments) + added.requests + load.requests_behind(request, work, states)
    metered = merged((loads, load.loads_to_list(request, work), added.loads))
    metering = metering_dollars(metered, states, price)
    held = ledger.find(PACED_RATE) is not None
    mounts = len(known.keys() & loads.keys())
    way = way_of(request, work, listing, done.copying_seconds, done.task_seconds - done.seconds_after)
    short = way.is_short
    aside = overhead_of_run(request, work, done.copying_seconds, done.task_seconds, mounts, held=held, short=short)
    aside += added.overhead
    busy = listing.function_seconds + sum(one.seconds for one in after) + done.task_seconds
    return dollars_of(way, requests, busy, metering, price, aside, added.services, request.function)


class _AttemptSums:
    """The sums over attempts, of which those without an end are at work until ``now``, or were lost after ``most``."""

    def __init__(self, now: float, most: float) -> None:
        self._now, self._most = now, most
        self.number, self.seconds, self.worked = 0, 0.0, Count()
        self.began, self.ended = inf, -inf

    def add(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            ended = min(self._now, attempt.began + self._most) if attempt.ended is None else attempt.ended
            self.number += 1
            self.seconds += max(0.0, ended - attempt.began)
            self.worked += Count(attempt.entries, attempt.bytes)
            self.began, self.ended = min(self.began, attempt.began), max(self.ended, ended)


def _attempts(phase: str, ledger: Ledger) -> Iterable[Attempt]:
    return (attempt for _, attempts in attempts_by_shard(phase, ledger) for attempt in attempts)
