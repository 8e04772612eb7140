"""CheckMount: the ends as the functions that copy will see them, and the end of what earlier runs left at work."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from fanout.ledger import keys
from fanout.listing.deciding.clocks import measure_clocks
from fanout.listing.deciding.other_runs import OtherRuns, refusal
from fanout.model.document import Json
from fanout.model.errors import AccessDenied, DestinationBusy, FanoutError, InvalidRequest, ItemError
from fanout.model.location import Location
from fanout.planning.places import mark_destination, refuse_same_directory, refuse_work_bucket_by_another_name
from fanout.planning.plan_transfer import check_ends
from fanout.ports.file_system import FileSystem
from fanout.ports.turns import Fence, Turn
from fanout.publishing.begin_publishing import begin_publishing, check_versions, keep_versions
from fanout.request.plan import Plan
from fanout.request.request import is_fenced
from fanout.staging.roots import are_apart, note_root, refuse_one_root
from fanout.verifying.verify_rules import note_owners, recall_owners
from fanout.work.context import Context


def check_mount(context: Context) -> Json:
    """Check the mounted end, and that S3 answers from here too.

    Note the destination's limitations, and how far the clocks of S3 and of a mounted destination differ.

    If the run writes to a mount, or a move deletes there, it fences the runs that it replaced before anything is
    listed. Raises ``InvalidRequest`` or ``AccessDenied``, which names the end and the remedy, ``DestinationBusy`` if a
    run is at work there under another mount's name, and ``Superseded`` if a later run has its turn by now. Of two
    mounts the destination is checked first: its mark must not be seen from the source. A run that is refused here
    leaves nothing: what it staged at the ends may lie in a tree that is not its own.
    """
    plan = context.ledger.read_plan()
    try:
        _check(plan, context)
    except (InvalidRequest, AccessDenied, DestinationBusy):
        _leave_nothing(plan, context)
        raise
    return {}


def _check(plan: Plan, context: Context) -> None:
    fenced = [end for end in plan.request.written_ends if is_fenced(end)]
    # Checked first, so that a late attempt makes nothing.
    turns = [(end, context.turns.turn(plan, end) if context.turns is not None else Turn()) for end in fenced]
    check_versions(plan, context)
    keep_versions(plan, context)
    check_ends(plan, context, on_mount=True)
    check_ends(plan, context, on_mount=False)
    refuse_work_bucket_by_another_name(plan, context)
    refuse_same_directory(plan, context)
    for end, turn in turns:
        _fence_others(plan, end, turn, context)
    begin_publishing(plan, context)
    _note_roots(plan, context)
    notes = (*_try_destination(plan, context), *measure_clocks(plan, context))
    if notes:
        context.ledger.note("check", notes)
    mark_destination(plan, context)
    context.begin("list")


def _leave_nothing(plan: Plan, context: Context) -> None:
    """Remove what this run staged at the ends that are seen here, unless another attempt has let the run list."""
    if next(context.ledger.keys(keys.SEGMENTS_DONE), None) is not None:
        return
    for end in plan.request.written_ends:
        tree = context.source(plan) if end == plan.request.source else context.destination(plan)
        if is_fenced(end) and tree.file_system is not None:
            with suppress(FanoutError, ItemError):  # the error that refuses the run is the one to tell
                tree.file_system.finish()


def _note_roots(plan: Plan, context: Context) -> None:
    """Note which directory the source's root is, if the run deletes; of two mounts, the root that is seen here.

    Raises ``InvalidRequest`` where a run that leaves no mark finds one directory under the names of both mounts.
    """
    request, ledger = plan.request, context.ledger
    if request.between_mounts and not request.course.goes_back:
        for field, tree in (("source", context.source(plan)), ("destination", context.destination(plan))):
            if tree.file_system is not None:
                note_root(field, tree, ledger, apart=are_apart(plan, ledger))
        if not request.course.writes:
            refuse_one_root(plan, ledger)
    elif request.course.deletes:
        note_root("source", context.source(plan), ledger)


def _try_destination(plan: Plan, context: Context) -> tuple[str, ...]:
    """Note whether the destination keeps owners; returns what it cannot keep, a sentence each."""
    if plan.request.destination.is_keyed:
        return ()
    if not plan.request.course.writes:
        if plan.request.course.compares:
            recall_owners(plan, context.ledger)
        return ()
    files = context.destination(plan).file_system
    if files is None:
        return ()  # the function on the other side tries
    limitations = files.limitations()
    note_owners(limitations, plan, context.ledger)
    return limitations


def _fence_others(plan: Plan, end: Location, turn: Turn, context: Context) -> None:
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
