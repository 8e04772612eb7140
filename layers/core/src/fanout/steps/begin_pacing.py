"""What PaceCopy starts from: how many functions at first, at what rate, and what there is to do to each file system."""

from __future__ import annotations

from fanout.domain import ledger_keys as keys
from fanout.domain.efs_model import FileSystemState
from fanout.domain.locations import MountLocation
from fanout.domain.pacing import Bounds, Pacing, Seen, decide
from fanout.domain.plan import Plan
from fanout.domain.quotas import EFS_LEAST_METERED
from fanout.domain.request import Request
from fanout.domain.rows import SCHEMA_VERSION, Json
from fanout.domain.run_limits import PacedRate, rate_row
from fanout.domain.weights import OPERATIONS_PER_FILE
from fanout.domain.workload import READ_OPERATIONS_PER_FILE, Work, loads_of
from fanout.ledger import Ledger
from fanout.steps.context import Context
from fanout.steps.measure import measured_file_systems


def begin_pacing(plan: Plan, work: Work, functions: int, context: Context) -> int:
    """Write pacing/plan.json and, where credits are to be kept, pacing/rate.json; returns the functions at first.

    The credits are those of the plan, so this holds for a single shard too, which is not paced later.
    """
    request = plan.request
    entry_bytes = entry_bytes_of(request)
    charged = work.bytes + work.entries * entry_bytes
    states = measured_file_systems(context.ledger)
    loads = loads_of(request, work)
    mounts = {
        mount: {"metered": loads[mount].metered_bytes, "rate_per_metered": charged / loads[mount].metered_bytes}
        for mount in states
        if mount in loads and loads[mount].metered_bytes
    }
    seen = [_at_first(mount, states[mount], **found) for mount, found in mounts.items()]
    bounds = bounds_of(request, functions)
    now = context.clock.now()
    pacing = decide(now, Pacing(functions, moved_at=now), seen, 0, bounds)
    context.ledger.write_json(
        keys.PACING_PLAN,
        {"schema_version": SCHEMA_VERSION, "functions": pacing.concurrency, "mounts": mounts, "began": now},
    )
    write_rate(pacing, request, context.ledger)
    return min(functions, pacing.concurrency)


def bounds_of(request: Request, planned: int) -> Bounds:
    """What the request allows, and the plan wants."""
    limits = request.limits
    return Bounds(limits.max_concurrency, planned, limits.credit_reserve_percent, limits.bytes_per_second)


def entry_bytes_of(request: Request) -> float:
    """What the operations of an entry count as, at the end that counts most."""
    operations = OPERATIONS_PER_FILE if isinstance(request.destination, MountLocation) else READ_OPERATIONS_PER_FILE
    return operations * EFS_LEAST_METERED.value


def write_rate(pacing: Pacing, request: Request, ledger: Ledger) -> None:
    """Write pacing/rate.json where there is a rate, or was one."""
    if pacing.bytes_per_second is None and ledger.find_json(keys.PACED_RATE) is None:
        return
    ledger.write_json(keys.PACED_RATE, rate_row(PacedRate(pacing.bytes_per_second, entry_bytes_of(request))))


def _at_first(mount: str, state: FileSystemState, metered: float, rate_per_metered: float) -> Seen:
    """What the plan measured; it has taken off for the age of what it read."""
    return Seen(mount, state, metered, credits=state.credits_bytes, rate_per_metered=rate_per_metered)


def pacing_plan(ledger: Ledger) -> Json:
    """What ``begin_pacing`` wrote."""
    found: Json = ledger.read_json(keys.PACING_PLAN)
    return found
