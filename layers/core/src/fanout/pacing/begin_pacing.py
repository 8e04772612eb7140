"""Writes the start of PaceCopy: the first concurrency and rate, and the load on each file system."""

from __future__ import annotations

from fanout.efs.load import Work
from fanout.efs.measure import measured_file_systems
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.pacing.rows import MountWork, PacingPlan
from fanout.pacing.rule import Pacing
from fanout.pacing.start import entry_bytes_of, paced_at_first, seen_at_first
from fanout.request.plan import Plan
from fanout.request.request import Request
from fanout.work.context import Context
from fanout.work.rates.run_limits import PacedRate


def begin_pacing(plan: Plan, work: Work, functions: int, context: Context, copied_by: float | None = None) -> int:
    """Write pacing/begun.json and, where credits are to be kept, pacing/rate.json; returns the functions at first.

    The credits are those of the plan, so this holds for a single shard too, which is not paced later.
    """
    seen = seen_at_first(plan.request, work, measured_file_systems(context.ledger))
    mounts = {one.mount: MountWork(one.metered_left, one.rate_per_metered) for one in seen}
    now = context.clock.now()
    pacing = paced_at_first(plan.request, seen, functions, now)
    context.ledger.write(keys.PACING_PLAN, PacingPlan(pacing.concurrency, mounts, now, copied_by))
    write_rate(pacing, plan.request, context.ledger)
    return min(functions, pacing.concurrency)


def write_rate(pacing: Pacing, request: Request, ledger: Ledger) -> None:
    """Write pacing/rate.json where there is a rate, or was one."""
    if pacing.bytes_per_second is None and ledger.find(keys.PACED_RATE, PacedRate) is None:
        return
    ledger.write(keys.PACED_RATE, PacedRate(pacing.bytes_per_second, entry_bytes_of(request)))
