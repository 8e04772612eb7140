"""A run fences those before it at an end that it writes, before it lists anything."""

from __future__ import annotations

from collections.abc import Collection

from fanout.ledger import keys
from fanout.model.location import Location
from fanout.ports.file_system import FileSystem
from fanout.ports.turns import Fence, Turn
from fanout.request.plan import Plan
from fanout.turns.other_runs import OtherRuns, refusal
from fanout.work.context import Context


def fence_others(plan: Plan, end: Location, turn: Turn, context: Context) -> None:
    """Fence whom the run's turn at an end names, the runs that it resumes, and whoever else has staged at its root."""
    is_source = end == plan.request.source
    field = "source" if is_source else "destination"
    place = end.place if is_source else plan.staging_place
    known = [*turn.fences, *(Fence(place, run_id) for run_id in plan.resumes)]

    def beside() -> Collection[str]:
        return context.turns.turn(plan, end).beside if context.turns is not None else ()

    def may_fence(run_id: str) -> None:
        now = context.turns.turn(plan, end) if context.turns is not None else turn
        other = now.elsewhere.get(run_id)
        if other is not None:  # its staging directory is seen here: both mounts show one directory
            raise refusal(field, end, run_id, other.mode)

    files = (context.source(plan) if is_source else context.destination(plan)).file_system
    if files is not None:
        _meet_no_other(field, plan, end, files, context)
    if files is not None and files.fence(known, beside, may_fence):
        context.ledger.mark(keys.SOURCE_FENCED if is_source else keys.FENCED)


def _meet_no_other(field: str, plan: Plan, end: Location, files: FileSystem, context: Context) -> None:
    """Raise ``DestinationBusy`` for a run of another mount that writes above the root; note who may be met below it."""
    turn = context.turns.turn(plan, end) if context.turns is not None else Turn()
    if not turn.elsewhere:
        return
    above = files.staged_above(turn.elsewhere.keys())
    if above is not None:
        raise refusal(field, end, above, turn.elsewhere[above].mode)
    modes = {run_id: writer.mode for run_id, writer in turn.elsewhere.items()}
    context.ledger.write(keys.other_runs_key(field), OtherRuns(modes))
