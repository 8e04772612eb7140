"""PlanTransfer: from a request to a plan and the first round of segments."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace

from fanout import __version__
from fanout.efs.calibration import creations_of, rates_of
from fanout.efs.calibrations import read_calibrations
from fanout.efs.measure import measure_file_systems
from fanout.ledger import keys, run_places
from fanout.ledger.documents import RawRequest
from fanout.ledger.ledger import Ledger
from fanout.listing.index.earlier_index import find_named_index, note_earlier_run
from fanout.listing.rounds import begin_round, list_concurrency
from fanout.model.checksum import engine
from fanout.model.document import Json
from fanout.model.errors import InvalidRequest
from fanout.planning.behind_mounts import find_behind, leave_own_names_out, refuse_behind
from fanout.planning.check_ends import check_ends, naming
from fanout.planning.far_buckets import check_checksums, find_far
from fanout.planning.first_round import first_round, versions_read
from fanout.planning.object_owners import notes_of_owners
from fanout.planning.places import refuse_same_bucket, refuse_work_bucket
from fanout.planning.plan_seal import note_in_seal, seal_run
from fanout.planning.quota import find_quota, within_quota
from fanout.request.asked import is_same_plan
from fanout.request.parse import check_prices, parse_request
from fanout.request.parts.finish_by import finish_at
from fanout.request.plan import Origin, Plan
from fanout.request.request import Request, may_go_short, request_at
from fanout.resuming.earlier_run import ResumedRun, find_earlier_run, write_carried
from fanout.resuming.rules import check_resumed
from fanout.summary.skipped import skip_run
from fanout.turns.waiting import asked_at, take_turn
from fanout.work.context import Context, StackFacts
from fanout.work.rates.run_limits import RunLimits
from fanout.work.reference import run_reference

# Quota, calibrations, buckets' regions and ends, ledger, last index, file systems' figures, two turns, sums.
_ASKED_AT_ONCE = 10


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
    began = context.clock.now()
    of_quota: list[str] = []
    measured: list[str] = []
    with ThreadPoolExecutor(_ASKED_AT_ONCE, thread_name_prefix="plan") as pool:
        quota = pool.submit(find_quota, context, of_quota)
        earlier = find_earlier_run(document, context.ledger)
        document = earlier.document if earlier else document
        request = with_prices_of(
            context.deployed, parse_request(document, mounts, max_concurrency, context.deployed.function)
        )
        request = request_at(request, earlier.ages_from_ns if earlier else int(began * 1e9))
        refuse_work_bucket(request, bucket)
        check_signer(request, context)
        if context.turns is not None:
            context.turns.look_ahead(request.written_ends, pool)
        asked = pool.submit(asked_at, context.ledger, began)
        reading, finding = pool.submit(read_calibrations, request, context), pool.submit(find_far, request, context)
        notes: list[str] = []
        behind = find_behind(request, context, notes)
        request = leave_own_names_out(request, behind, notes)
        if earlier:
            check_resumed(request, earlier.plan.request, earlier.ledger.run_id)
        near = Plan(context.ledger.run_id, request, rates_of(request, {}), earlier.resumes if earlier else ())
        naming_index = pool.submit(find_named_index, near, context.ledger)
        checking = None if request.assumed[0] else pool.submit(check_ends, near, context, on_mount=False)
        pool.submit(engine)  # loads what sums, before the first write waits for it
        calibrations, uncalibrated = reading.result()
        notes += uncalibrated
        measuring = pool.submit(measure_file_systems, request, context, calibrations, behind, measured)
        plan = Plan(
            context.ledger.run_id,
            request,
            rates_of(request, calibrations),
            near.resumes,
            creations_of(request, calibrations),
            None,
            began,
            Origin(execution, bucket, __version__),
            move_began=_move_began(request, earlier, began),
            behind=behind,
            asked=asked.result(),
            regions=finding.result(),
        )
        check_checksums(plan, context.deployed)
        check_finish(plan)
        context.check_sessions(plan)
        called = functions(plan)
        refuse_behind(plan, bucket)
        if checking is None or plan.regions:  # else the buckets were asked where they are, meanwhile
            check_ends(plan, context, on_mount=False)
        else:
            checking.result()
        notes += refuse_same_bucket(plan, context)
        notes += notes_of_owners(plan, context)
        ledger = context.ledger
        check_new(ledger)
        with naming("manifest"):  # a list that cannot be read is refused before the run waits for its turn
            pieces = [] if earlier else first_round(request, context.objects(plan))
        read = earlier.read_once if earlier else versions_read(pieces)
        other = take_turn(plan, execution, context, read)
        plan = replace(plan, quota=quota.result())
    plan = replace(plan, request=within_quota(request, plan.quota, context, of_quota))
    request, notes = plan.request, notes + of_quota + measured
    if other is not None:
        return skip_run(plan, document, other, began, context)
    plan, ledger = _written(plan, RawRequest(document), ledger)
    request = plan.request
    context = replace(context, ledger=ledger)
    ledger.begin("plan", plan.began)
    note_earlier_run(plan, naming_index.result(), ledger)
    write_limits(RunLimits(request.limits.bytes_per_second, request.limits.files_per_second), ledger)
    ledger.write(keys.FILE_SYSTEMS, measuring.result())
    if notes:
        ledger.note("measure", notes)
    if earlier:
        pieces = write_carried(earlier, ledger)
    if request.course.goes_back:
        pieces = []
    first = begin_round(context, 1, pieces, list_concurrency(plan))
    short = {"short": True} if "segment" in first and may_go_short(request) else {}
    return {"run": {**run_reference(plan, ledger, bucket), **short, "functions": called}, "list": first}


def _written(plan: Plan, asked: RawRequest, ledger: Ledger) -> tuple[Plan, Ledger]:
    """Write the request and the plan, each once; the plan that is there, which may be an earlier attempt's.

    Raises ``LedgerBroken`` for another request, or for a plan that differs in more than ``request.asked`` allows.
    """
    sealed = seal_run(plan, asked, ledger)
    sealed.write_once(keys.REQUEST, asked, lambda known: known == asked)
    found = sealed.write_once(keys.PLAN, plan, lambda known: is_same_plan(known, plan))
    note_in_seal(found, asked, sealed)
    return found, sealed


def _move_began(request: Request, earlier: ResumedRun | None, began: float) -> float | None:
    if not request.course.deletes_proven:
        return None
    return began if earlier is None or earlier.plan.move_began is None else earlier.plan.move_began


def with_prices_of(deployed: StackFacts, request: Request) -> Request:
    """The request with the stack's prices where it names none. Raises ``InvalidRequest`` for a wrong one of them."""
    check_prices("Prices", deployed.prices)
    return replace(request, prices={**deployed.prices, **request.prices})


def check_signer(request: Request, context: Context) -> None:
    """Raise ``InvalidRequest`` for a certificate that nothing here can sign."""
    if request.certificate and context.signer is None:
        raise InvalidRequest(
            "certificate", "the stack has no signing key", "leave it out, or deploy the stack with Certificates: true"
        )


def check_finish(plan: Plan) -> None:
    """Raise ``InvalidRequest`` for a ``limits.finish_by`` that had passed when the run asked for its turn."""
    if plan.request.limits.finish_by:
        finish_at(plan.request.limits.finish_by, plan.asked)


def check_new(ledger: Ledger) -> None:
    """Raise ``InvalidRequest`` for an id that no run can have, or whose ledger is another run's.

    Files of an earlier attempt of this task are overwritten, but for its plan, which stays.
    """
    run_places.check_run_name(ledger.run_id)
    notes = (keys.note_key("plan"), keys.note_key("measure"), keys.note_key("index"))
    documents = (
        keys.REQUEST,
        keys.PLAN,
        keys.LIMITS,
        keys.FILE_SYSTEMS,
        keys.EARLIER,
        keys.WAITING,
        keys.phase_key("plan"),
        keys.phase_key("summarise"),  # by whoever had a run of this name summarised before it was planned
        keys.round_key(1),
    )
    skipped = (keys.SUMMARY, keys.FAILURES, keys.REPORT)
    mine = (*documents, *notes, *skipped, keys.CARRIED)
    other = next((key for key in ledger.keys("") if not key.startswith(mine)), None)
    if other is not None:
        problem = f"{ledger.prefix} holds the ledger of an earlier run ({other})"
        raise InvalidRequest("run_id", problem, "start it under another name, or remove that ledger")


def write_limits(limits: RunLimits, ledger: Ledger) -> None:
    """Write limits.json, if the request sets any; ``fanout limit`` may write it later."""
    if limits != RunLimits():
        ledger.write(keys.LIMITS, limits)
