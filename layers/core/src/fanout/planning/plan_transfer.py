"""PlanTransfer: from a request to a plan and the first round of segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from fanout.efs.measure import FILE_SYSTEMS
from fanout.ledger import keys
from fanout.ledger.documents import RawRequest
from fanout.ledger.ledger import Ledger
from fanout.listing.index.earlier_index import note_earlier_run
from fanout.listing.rounds import begin_round, list_concurrency
from fanout.model.document import Json
from fanout.planning.plan_facts import PlanEvent, PlanFacts
from fanout.planning.plan_seal import note_in_seal, seal_run
from fanout.planning.refusals import AT_ONCE, REFUSALS, notes_of
from fanout.request.asked import is_same_plan
from fanout.request.plan import Plan
from fanout.request.request import may_go_short
from fanout.resuming.earlier_run import note_listed_anew, write_carried
from fanout.summary.skipped import skip_run
from fanout.turns.waiting import take_turn
from fanout.work.context import Context
from fanout.work.rates.in_force import limits_asked
from fanout.work.rates.run_limits import LIMITS, RunLimits
from fanout.work.reference import run_reference


def plan_transfer(
    document: Any,
    context: Context,
    mounts: tuple[str, ...],
    max_concurrency: int,
    bucket: str,
    functions: Callable[[Plan], Json] = lambda _plan: {},
    execution: str = "",
) -> Json:
    """Check the request and the ends in S3, take the run's turn, write request.json, plan.json and round 1.

    A run whose turn it is not is skipped. File systems are measured, and what an earlier run had listed is carried
    over, once the plan is written.

    ``functions`` chooses those that see a mount, by their states, none in one process; ``execution`` is the run's
    ARN; that it runs with this request is known by then (``flow.evidence``). Returns the references that the other
    states travel with, or why the run is skipped. Raises ``InvalidRequest``, ``AccessDenied`` or
    ``DestinationBusy`` before anything is written but waiting.json.
    """
    event = PlanEvent(document, mounts, max_concurrency, bucket, functions, execution)
    with PlanFacts(event, context) as facts:
        notes = notes_of(AT_ONCE, facts)
        facts.ahead()
        notes += notes_of(REFUSALS, facts)
        other = take_turn(facts.plan, execution, context, facts.read_once)
        plan = facts.within_quota()
        if other is not None:
            return skip_run(plan, facts.document, other, facts.began, context)
        return _begun(plan, facts, notes)


def _begun(plan: Plan, facts: PlanFacts, notes: list[str]) -> Json:
    """Write the plan, and what the run begins with; returns the references."""
    plan, ledger = _written(plan, RawRequest(facts.document), facts.context.ledger)
    request, context = plan.request, replace(facts.context, ledger=ledger)
    ledger.begin("plan", plan.began)
    note_earlier_run(plan, facts.named_index, ledger)
    write_limits(limits_asked(request), ledger)
    ledger.write(FILE_SYSTEMS, facts.file_systems)
    if notes := [*notes, *facts.of_quota, *facts.measured]:
        ledger.note("measure", notes)
    pieces = write_carried(facts.carried, ledger) if facts.carried else facts.pieces
    if facts.earlier and not facts.carried:
        note_listed_anew(facts.earlier, request, ledger)
    first = begin_round(context, 1, [] if request.course.goes_back else pieces, list_concurrency(plan))
    short = {"short": True} if "segment" in first and may_go_short(request) else {}
    run = {**run_reference(plan, ledger, facts.event.bucket), **short, "functions": facts.functions}
    return {"run": run, "list": first}


def _written(plan: Plan, asked: RawRequest, ledger: Ledger) -> tuple[Plan, Ledger]:
    """Write the request and the plan, each once; the plan that is there, which may be an earlier attempt's.

    Raises ``LedgerBroken`` for another request, or for a plan that differs in more than ``request.asked`` allows.
    """
    sealed = seal_run(plan, asked, ledger)
    sealed.write_once(keys.REQUEST, asked, lambda known: known == asked)
    found = sealed.write_once(keys.PLAN, plan, lambda known: is_same_plan(known, plan))
    note_in_seal(found, asked, sealed)
    return found, sealed


def write_limits(limits: RunLimits, ledger: Ledger) -> None:
    """Write limits.json, if the request sets any; ``fanout limit`` may write it later."""
    if limits != RunLimits():
        ledger.write(LIMITS, limits)
