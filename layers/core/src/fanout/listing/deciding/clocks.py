"""The clocks of both ends: CheckMount measures them, ListSegment allows for the difference."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from fanout.ledger.ledger import Ledger
from fanout.listing.deciding import clock_lead
from fanout.listing.deciding.clock_lead import CLOCKS
from fanout.model.errors import Throttled, Transient
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.request.proven_ends import Ends, ends_to_prove
from fanout.work.context import Context

_ATTEMPTS = 3


def _compares_clocks(plan: Plan) -> bool:
    """Whether the run compares times of S3 with a mount's, and may write to the mount to read its clock.

    The run writes nothing to a mount that is the source, so it does not read that clock.
    """
    return plan.request.course.writes and ends_to_prove(plan.request) is Ends.S3_TO_MOUNT


def measure_clocks(plan: Plan, context: Context) -> list[str]:
    """Write clocks.json if clocks are compared; returns the notes for the summary."""
    if not _compares_clocks(plan):
        return []
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            ahead, of_runs = _measure(plan, context)
        except (Throttled, Transient) as error:
            if attempt < _ATTEMPTS:
                continue
            context.ledger.write(CLOCKS, clock_lead.Clocks(clock_lead.UNKNOWN, clock_lead.SAME))
            unmeasured = f"how far the clocks of S3 and the destination differ could not be measured ({error})"
            return [f"{unmeasured}: what no earlier run vouches for was copied"]
        context.ledger.write(CLOCKS, clock_lead.Clocks(ahead, of_runs))
        note = clock_lead.clocks_note(ahead)
        return [note] if note else []
    raise AssertionError("no attempt was made")


def _measure(plan: Plan, context: Context) -> tuple[clock_lead.Ahead, clock_lead.Ahead]:
    source, destination = context.source(plan), context.destination(plan)
    before = destination.clock_ns()
    return clock_lead.ahead_of(before, source.clock_ns(), destination.clock_ns()), _ahead_of_runs(destination, context)


def ahead_of_runs(plan: Plan, context: Context) -> Callable[[], int]:
    """Return a function that says how far the destination's clock is ahead of the functions', in nanoseconds.

    A bucket is asked once. CheckMount asked a mount, because a listing writes nothing there.
    The function raises ``Throttled`` or ``Transient`` if S3 does not report its time.
    """
    if not plan.request.destination.is_keyed:
        measured = _measured(plan, context.ledger)
        return lambda: clock_lead.wider_ns(measured.of_runs) if measured else 0
    return cache(lambda: clock_lead.wider_ns(_ahead_of_runs(context.destination(plan), context)))


def _ahead_of_runs(destination: ReadTree, context: Context) -> clock_lead.Ahead:
    before = int(context.clock.now() * 1e9)
    least, most = destination.clock_ns()
    return clock_lead.Ahead(least - int(context.clock.now() * 1e9), most - before)


def wider_by(plan: Plan, ledger: Ledger) -> int:
    """Nanoseconds added to the margin by which an entry must be written after the source changed."""
    measured = _measured(plan, ledger)
    return clock_lead.wider_ns(measured.of_source) if measured else 0


def _measured(plan: Plan, ledger: Ledger) -> clock_lead.Clocks | None:
    return ledger.whole_run().find(CLOCKS) if _compares_clocks(plan) else None
