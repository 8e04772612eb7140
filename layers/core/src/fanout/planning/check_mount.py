"""CheckMount: the ends as the functions that copy will see them, and the end of what earlier runs left at work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from fanout.efs.measure import are_apart
from fanout.ledger import keys
from fanout.listing.deciding.clocks import measure_clocks
from fanout.model.checksum import engine
from fanout.model.document import Json
from fanout.model.errors import AccessDenied, DestinationBusy, FanoutError, InvalidRequest, ItemError
from fanout.planning.behind_mounts import hold_to_kind
from fanout.planning.bucket_behind_mount import find_bucket_behind_mount
from fanout.planning.check_ends import check_ends
from fanout.planning.places import mark_destination, refuse_same_directory, refuse_work_bucket_by_another_name
from fanout.ports.turns import Turn
from fanout.publishing.begin_publishing import begin_publishing, check_versions, keep_versions
from fanout.request.plan import Plan
from fanout.request.request import is_fenced
from fanout.turns.other_runs import fence_others
from fanout.work.context import Context
from fanout.work.mount_owners import note_owners, recall_owners
from fanout.work.roots import made_by_run, note_root, refuse_one_root
from fanout.work.staged import note_staged


def check_mount(context: Context) -> Json:
    """Check the mounted end, and that S3 answers from here too; fence other runs; try the destination.

    A run fences those that it replaced where it writes to a mount, or where a move deletes, before anything is listed.
    Then the destination's limitations are noted, and how far its clock and that of S3 differ. Of two mounts the
    destination is checked first: its mark must not be seen from the source. A run that is refused here leaves nothing:
    what it staged at the ends may lie in a tree that is not its own.

    Raises ``InvalidRequest`` or ``AccessDenied``, which names the end and the remedy, ``DestinationBusy`` if a run is
    at work there under another mount's name, and ``Superseded`` if a later run has its turn by now.
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
    with ThreadPoolExecutor(3, thread_name_prefix="check") as meanwhile:
        in_buckets = meanwhile.submit(check_ends, plan, context, on_mount=False)  # leaves nothing there
        meanwhile.submit(engine)  # loads what sums, before the first write waits for it
        # Checked first, so that a late attempt makes nothing.
        turns = [(end, context.turns.turn(plan, end) if context.turns is not None else Turn()) for end in fenced]
        check_versions(plan, context)
        keep_versions(plan, context)
        written = check_ends(plan, context, on_mount=True)
        noting = meanwhile.submit(note_staged, written, context.ledger)  # before anything stays in it
        trying = meanwhile.submit(_try_destination, plan, context)  # in a directory of the run's own
        in_buckets.result()
        refuse_work_bucket_by_another_name(plan, context)
        refuse_same_directory(plan, context)
        may_show_a_bucket = find_bucket_behind_mount(plan, context)
        unlike = hold_to_kind(plan, context)
        # Before the turn is looked at again: a later run removes what is noted, and takes the turn before it looks.
        noting.result()
        for end, turn in turns:
            fence_others(plan, end, turn, context)
    begin_publishing(plan, context)
    _note_roots(plan, context, may_show_a_bucket)
    notes = (*unlike, *trying.result(), *measure_clocks(plan, context))
    if notes:
        context.ledger.note("check", notes)
    mark_destination(plan, context)
    context.begin("list")


def _leave_nothing(plan: Plan, context: Context) -> None:
    """Remove what this run staged at the ends that are seen here, unless another attempt has let the run list."""
    if next(context.ledger.now().keys(keys.SEGMENTS_DONE), None) is not None:
        return
    for end in plan.request.written_ends:
        tree = context.seen_source(plan) if end == plan.request.source else context.seen_destination(plan)
        if is_fenced(end) and tree is not None and tree.file_system is not None:
            with suppress(FanoutError, ItemError):  # the error that refuses the run is the one to tell
                tree.file_system.finish()
                tree.file_system.unmake(made_by_run(tree, context.ledger) if end == plan.request.destination else "")


def _note_roots(plan: Plan, context: Context, may_show_a_bucket: bool) -> None:
    """Note which directory the source's root is, if the run deletes; of ends on mounts, each root that is seen here.

    Raises ``InvalidRequest`` where a run that leaves no mark finds one directory under the names of both ends.
    """
    request, ledger = plan.request, context.ledger
    if request.on_mounts and not request.course.goes_back:
        for field, tree in (("source", context.seen_source(plan)), ("destination", context.seen_destination(plan))):
            if tree is not None and tree.file_system is not None:
                apart = are_apart(plan, ledger)
                note_root(field, tree, ledger, apart=apart, may_show_a_bucket=may_show_a_bucket)
        if not request.between_mounts or not request.course.writes:
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
    files = context.destination_files(plan)
    if files is None:
        return ()  # the function on the other side tries
    limitations = files.limitations()
    note_owners(limitations, files, plan, context.ledger)
    return limitations
