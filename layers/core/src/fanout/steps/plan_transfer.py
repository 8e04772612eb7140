"""PlanTransfer: from a request to a plan and the first round of segments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from fanout.domain import ledger_keys as keys
from fanout.domain import limits
from fanout.domain.calibration import creations_of, rates_of
from fanout.domain.errors import InvalidRequest
from fanout.domain.listing_model import LIST_CONCURRENCY
from fanout.domain.locations import MountLocation
from fanout.domain.plan import Plan
from fanout.domain.prices import check_prices
from fanout.domain.request import Mode, Request
from fanout.domain.resuming import check_resumed
from fanout.domain.rows import SCHEMA_VERSION, Json, segment_row
from fanout.domain.run_limits import RunLimits, limits_row
from fanout.domain.segments import Segment, open_round
from fanout.domain.sides import functions_of
from fanout.ledger import Ledger
from fanout.steps.calibrations import read_calibrations
from fanout.steps.context import Context
from fanout.steps.earlier_index import note_earlier_run
from fanout.steps.earlier_run import find_earlier_run, write_carried
from fanout.steps.first_round import first_round
from fanout.steps.measure import measure_file_systems
from fanout.steps.quota import find_quota, within_quota
from fanout.steps.skip_run import skip_run


def plan_transfer(
    document: Any,
    context: Context,
    mounts: tuple[str, ...],
    max_concurrency: int,
    bucket: str,
    functions: Sequence[Mapping[str, str]] = (),
    execution: str = "",
) -> Json:
    """Check the request and the S3 end, write request.json, plan.json and round 1.

    ``functions`` are those that see a mount, by their names, for each of ``mounts``; ``execution`` is the run's ARN.
    Returns the references that the other states travel with, or why the run is skipped. Raises ``InvalidRequest``,
    ``AccessDenied`` or ``DestinationBusy`` before anything is written.
    """
    began = context.clock.now()
    # Here, because the states that only check or list need none of pydantic's import time.
    from fanout.requests import parse_request

    earlier = find_earlier_run(document, context.ledger)
    document = earlier.document if earlier else document
    request = with_prices_of(context, parse_request(document, mounts, max_concurrency))
    called = functions_of(request, mounts, functions) if functions else {}
    if earlier:
        check_resumed(request, earlier.plan.request, earlier.ledger.run_id)
    calibrations, notes = read_calibrations(request, context)
    quota = find_quota(context, notes)
    request = within_quota(request, quota, context, notes)
    plan = Plan(
        context.ledger.run_id,
        request,
        rates_of(request, calibrations),
        earlier.resumes if earlier else (),
        creations_of(request, calibrations),
        quota,
    )
    check_ends(plan, context, on_mount=False)
    ledger = context.ledger
    check_new(ledger)
    other = context.turns.take(plan, execution) if context.turns else None
    if other is not None:
        return skip_run(plan, document, other, began, context)
    with naming("manifest"):
        pieces = [] if earlier else first_round(request, context.objects(request))
    ledger.write_json(keys.phase_key("plan"), {"began": began})
    ledger.write_json(keys.REQUEST, {"schema_version": SCHEMA_VERSION, "request": document})
    ledger.write_plan(plan)
    note_earlier_run(plan, ledger)
    write_limits(RunLimits(request.limits.bytes_per_second, request.limits.files_per_second), ledger)
    measure_file_systems(request, context, calibrations, notes)
    if earlier:
        pieces = write_carried(earlier, ledger)
    return {
        "run": {**run_reference(plan, ledger, bucket), "functions": called},
        "list": begin_round(context, 1, pieces, list_concurrency(plan)),
    }


def with_prices_of(context: Context, request: Request) -> Request:
    """The request with the stack's prices where it names none. Raises ``InvalidRequest`` for a wrong one of them."""
    check_prices("Prices", context.prices)
    return replace(request, prices={**context.prices, **request.prices})


def check_new(ledger: Ledger) -> None:
    """Raise ``InvalidRequest`` where another run has a ledger under this id: what it did would count as done.

    What an earlier attempt of this task wrote is written over.
    """
    notes = (keys.note_key("plan"), keys.note_key("measure"), keys.note_key("index"))
    documents = (
        keys.REQUEST,
        keys.PLAN,
        keys.LIMITS,
        keys.FILE_SYSTEMS,
        keys.EARLIER,
        keys.phase_key("plan"),
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
        ledger.write_json(keys.LIMITS, limits_row(limits))


def run_reference(plan: Plan, ledger: Ledger, bucket: str) -> Json:
    """The reference to a run's ledger; ``apart`` is the mode of a run whose ends no function sees both of."""
    apart = plan.request.mode.value if plan.request.between_mounts else ""
    return {"id": ledger.run_id, "bucket": bucket, "prefix": ledger.prefix, "apart": apart}


def list_concurrency(plan: Plan) -> int:
    """How many functions list a round at once."""
    return min(LIST_CONCURRENCY, plan.quota or LIST_CONCURRENCY)


def begin_round(context: Context, number: int, pieces: Sequence[Segment], at_once: int = LIST_CONCURRENCY) -> Json:
    """Write a round's list of segments; returns the reference to it. A count of 0 means that nothing is left to list.

    The only segment of a round travels with the reference, so that it is listed without a Map.
    """
    rows = [segment_row(segment) for segment in open_round(number, pieces)]
    if rows:
        context.ledger.write_json(keys.round_key(number), rows)
    reference: Json = {
        "round": number,
        "count": len(rows),
        "key": context.ledger.prefix + keys.round_key(number),
        "max_concurrency": at_once,
    }
    if len(rows) == 1 and len(json.dumps(rows[0])) <= limits.SEGMENT_STATE_BYTES:
        reference["segment"] = rows[0]
    return reference


def check_ends(plan: Plan, context: Context, *, on_mount: bool) -> None:
    """Check the ends that lie on a mount, or those that do not."""
    request: Request = plan.request
    if isinstance(request.source, MountLocation) is on_mount:
        with naming("source"):
            context.source(plan).check(writing=False)
    if isinstance(request.destination, MountLocation) is on_mount:
        made_later = request.mode is Mode.PLAN and on_mount  # a copy would make it
        if not made_later:
            with naming("destination"):
                context.destination(plan).check(writing=request.mode.writes)


@contextmanager
def naming(field: str) -> Iterator[None]:
    """Name the field of the request where an adapter says that a bucket is wrong."""
    try:
        yield
    except InvalidRequest as error:
        if error.field != "bucket":
            raise
        raise error.of_field(field) from error
