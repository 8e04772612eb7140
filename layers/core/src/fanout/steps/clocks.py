"""The clocks of both ends: measured by CheckMount, reckoned with by ListSegment."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from fanout.domain import ledger_keys as keys
from fanout.domain.clocks import Ahead, ahead_of, clocks_from_row, clocks_note, clocks_row, wider_ns
from fanout.domain.errors import Throttled, Transient
from fanout.domain.locations import S3Location
from fanout.domain.plan import Plan
from fanout.domain.proofs import Ends, ends_to_prove
from fanout.ledger import Ledger
from fanout.steps.context import Context


def _compares_clocks(plan: Plan) -> bool:
    """Whether times of S3 and of a mount are compared, and the mount may be written to, which telling its time takes.

    Of a mount that is the source nothing is written, so its clock is not asked.
    """
    return plan.request.mode.writes and ends_to_prove(plan.request) is Ends.S3_TO_MOUNT


def measure_clocks(plan: Plan, context: Context) -> list[str]:
    """Write clocks.json where clocks are compared; returns what the summary should say."""
    if not _compares_clocks(plan):
        return []
    source, destination = context.source(plan), context.destination(plan)
    try:
        before = destination.clock_ns()
        ahead = ahead_of(before, source.clock_ns(), destination.clock_ns())
    except (Throttled, Transient) as error:
        return [f"how far the clocks of S3 and the destination differ could not be measured: {error}"]
    context.ledger.write_json(keys.CLOCKS, clocks_row(ahead))
    note = clocks_note(ahead)
    return [note] if note else []


def ahead_of_runs(plan: Plan, context: Context, wider: int) -> Callable[[], int]:
    """Says how far the destination's clock is ahead of the functions', in nanoseconds; a bucket is asked once.

    A mount is taken to be ahead by ``wider``, as of S3: a listing writes nothing there. The answer raises ``Throttled``
    or ``Transient`` where S3 does not tell its time.
    """
    if not isinstance(plan.request.destination, S3Location):
        return lambda: wider

    @cache
    def ahead() -> int:
        before = int(context.clock.now() * 1e9)
        least, most = context.destination(plan).clock_ns()
        return wider_ns(Ahead(least - int(context.clock.now() * 1e9), most - before))

    return ahead


def wider_by(plan: Plan, ledger: Ledger) -> int:
    """How much wider the margin is by which an entry must be written after the source changed, in nanoseconds."""
    row = ledger.whole_run().find_json(keys.CLOCKS) if _compares_clocks(plan) else None
    return wider_ns(clocks_from_row(row)) if row else 0
