"""The rates of a running run, changed and put into words."""

from __future__ import annotations

import json

from fanout.facts.tuning import LEAST_BYTES_PER_SECOND, LEAST_FILES_PER_SECOND, MOST_PER_SECOND
from fanout.ledger.documents import document_of, document_row
from fanout.ledger.keys import PLAN
from fanout.ledger.ledger import Ledger
from fanout.ledger.run_places import run_prefix
from fanout.request.fields.units import size_of
from fanout.request.plan import Plan
from fanout.work.rates.in_force import limits_asked, limits_in_force
from fanout.work.rates.run_limits import LIMITS, RunLimits
from fanout_cli.command_error import CommandError
from fanout_cli.runs.runs import describe_run, read_ledger
from fanout_cli.runs.work_bucket import BucketStore
from fanout_cli.stacks import Stack

NONE = "none"


def change_limits(stack: Stack, run_id: str, bytes_per_second: str | None, files_per_second: str | None) -> RunLimits:
    """Write what is given to the run's ledger; what is not stays. Returns what holds then. Raises ``CommandError``."""
    status = describe_run(stack, run_id)["status"]
    plan = read_ledger(stack, run_id, PLAN)
    if status != "RUNNING":
        raise CommandError(f"{run_id} has ended ({status}); only a run that goes on has rates to change")
    if plan is None:
        raise CommandError(f"{run_id} has no plan yet; try again in some seconds")
    request = document_of(plan, Plan).request
    ledger = Ledger(BucketStore(stack.client("s3"), stack.work_bucket), run_id)
    limits, problem = limits_in_force(ledger, limits_asked(request))
    if problem and bytes_per_second is files_per_second is None:
        raise CommandError(f"{problem}; give --bytes-per-second or --files-per-second to write the file anew")
    changed = RunLimits(
        _rate("--bytes-per-second", bytes_per_second, limits.bytes_per_second, LEAST_BYTES_PER_SECOND),
        _rate("--files-per-second", files_per_second, limits.files_per_second, LEAST_FILES_PER_SECOND),
    )
    if request.inside_s3 and changed.bytes_per_second is not None:
        raise CommandError("--bytes-per-second: S3 copies between two buckets by itself; --files-per-second works")
    if changed != limits or problem:
        body = json.dumps(document_row(changed), indent=1).encode()
        stack.client("s3").put_object(Bucket=stack.work_bucket, Key=run_prefix(run_id) + LIMITS, Body=body)
    return changed


def describe(limits: RunLimits) -> str:
    """The limits in a sentence; functions follow within 10 seconds."""
    found = [
        f"{value:,.0f} {what} a second"
        for value, what in ((limits.bytes_per_second, "bytes"), (limits.files_per_second, "entries"))
        if value is not None
    ]
    return f"at most {' and '.join(found)}, within 10 seconds" if found else "no limit"


def _rate(option: str, given: str | None, known: float | None, least: int) -> float | None:
    if given is None:
        return known
    if given == NONE:
        return None
    rate = size_of(option, given)
    if rate is None or rate < least:
        raise CommandError(f"{option}: {given} is too little; at least {least:,}, or none for no limit")
    if rate > MOST_PER_SECOND:
        raise CommandError(f"{option}: {given} is too much; at most {MOST_PER_SECOND:,}, or none for no limit")
    return float(rate)
