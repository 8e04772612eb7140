"""ListSegment: lists both ends of a segment, decides, and writes shards and outcomes as entries stream by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fanout.facts import tuning
from fanout.listing.deciding.clocks import ahead_of_runs, wider_by
from fanout.listing.deciding.proofs import Proofs
from fanout.listing.deciding.settle import Settler
from fanout.listing.destination_process import listed_apart
from fanout.listing.directories.extra_writer import lists_extras
from fanout.listing.index.earlier_index import EarlierIndex
from fanout.listing.intake import Intake
from fanout.listing.list_destination import cut_of, listed_there, noting_failure
from fanout.listing.lookups import LookupQueue, found_for_listing, with_looks
from fanout.listing.manifests.list_manifest import Lookups, list_manifest
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.listing.march import Together, merge_columns
from fanout.listing.naming.placement import FilesElsewhere, may_be_both, naming_of
from fanout.listing.pieces import list_end, of_source
from fanout.listing.segment_writer import SegmentWriter
from fanout.model.columns import FileColumns, Listed, last_path
from fanout.model.deadline import Deadline
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.path_rules import FilesAbove, is_unlinked_file
from fanout.model.segment import Segment, cut, no_pruning, rest_of
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.request.request import knows_extras
from fanout.shards.held import look_at_held
from fanout.shards.tasks.attempts import TaskNotes
from fanout.turns.other_runs import met_in
from fanout.work.context import Context


def list_segment(segment: Segment, context: Context) -> Json:
    """List a segment until it ends, the time is up, or its budget is used; then cut what is left."""
    return noting_failure(_list_segment, segment, context)


def _list_segment(segment: Segment, context: Context) -> Json:
    """List a segment until it ends, the time is up, or its budget is used; then cut what is left.

    Returns nothing of size: the segment's record in the ledger holds the counts, the
    shards and the segments that are left. Raises ``ListingIncomplete``, ``Throttled``
    or ``Transient`` if an end cannot be listed, and then nothing counts.
    """
    plan = context.ledger.read_plan()
    context = context.within(plan)
    request = plan.request
    source_tree, destination_tree = context.source(plan), context.destination(plan)
    writer = SegmentWriter(plan, segment, context, source_tree, destination_tree)
    notes = _ProgressNotes(segment, context, writer)
    earlier, wider_ns = EarlierIndex(plan, context.ledger), wider_by(plan, context.ledger)
    proofs = Proofs(plan, earlier, source_tree, destination_tree, wider_ns, ahead_of_runs(plan, context))
    settler = Settler(writer, plan, proofs, destination_tree, met_in("source", plan, context.ledger))
    look = look_at_held(plan, context)
    ask = settler.ask if look is None else with_looks(settler.ask, look)
    if segment.manifest is not None:
        looks, lookups = writer.looks, Lookups(plan, source_tree, writer.looks.find)
        assert request.manifest is not None
        deadline = context.deadline()
        lines = ManifestLines(context.objects(plan), request.manifest, segment.manifest, deadline)
        in_time = partial(_late, context, deadline, notes)
        is_late = lambda number: number == looks.rows or in_time(number)  # noqa: E731
        with LookupQueue(ask, settler.settle) as queue:
            refuse = lambda row: queue.run(partial(writer.refuse, row))  # noqa: E731
            left = list_manifest(lines, plan, lookups, queue.add, refuse, is_late)
        writer.close(left, matched=None)
        notes.end()
        return {"segment": segment.id}
    find = found_for_listing(source_tree)
    place_of = naming_of(plan, find)
    above = FilesAbove(segment.files_above)
    filters, may_be_above, counts_scope = request.filters, may_be_both(request), writer.counts_scope

    def find_taken(path: str) -> Entry | None:
        entry = find(path)
        return entry if entry is None or filters.reason(entry) is None else None

    elsewhere = FilesElsewhere(segment.unlisted if may_be_above else "", find_taken, place_of)

    def parents_of(source: Entry) -> tuple[str, ...]:
        return elsewhere.parents(source.path, above.parents(source.path)) if may_be_above else ()

    budget = _Budget(segment, context, notes)
    left = []
    prunes = filters.prunes if filters.exclude else no_pruning
    list_here = partial(list_end, source_tree, request.source, segment, earlier.marks, prunes)
    list_there: Callable[[], Iterator[Listed]] = partial(listed_there, segment, context.ledger)
    if not request.between_mounts:
        list_there = partial(list_end, destination_tree, request.destination, segment, earlier.marks, prunes)
    cut_there = cut_of(segment, plan, context.ledger)
    with (
        LookupQueue(ask, settler.settle) as queue,
        listed_apart(list_there, context.crew if context.forks(plan) else None) as there,
    ):
        pairs = merge_columns(of_source(list_here(), source_tree, request.source), there)
        intake = Intake(filters, queue.add)
        place_of_file = lambda one: place_of(one, parents_of(one))  # noqa: E731
        together = Together(plan, place_of_file, budget.room, proofs.unchanged_lengths)
        for source, destination in together.apart(pairs):
            if isinstance(source, FileColumns):
                assert not isinstance(destination, Entry)
                intake.take_files(source)
                queue.run(partial(writer.take_files, source, destination), len(source))
                if may_be_above:
                    above.add_files(source.paths)
                if budget.used(len(source)):
                    left = _cut(rest_of(segment, last_path(source), above.snapshot()), source_tree, destination_tree)
                    break
                continue
            assert not isinstance(destination, FileColumns)
            if destination is not None and destination.kind is Kind.DIRECTORY:
                # In its turn: entries below the directory are settled before it and must not find another one in its
                # place.
                queue.run(partial(writer.seen, source, destination))
            elif destination is not None or counts_scope:
                writer.seen(source, destination)
            if source is not None:
                place = intake.add(source, destination, partial(place_of, source, parents_of(source)))
                if may_be_above and place.reason is None and source.kind is Kind.FILE:
                    above.add(source.path)
            elif destination is not None and _reports_extras(plan) and not _stays(intake, destination):
                queue.run(partial(writer.extra, destination))
            last = source or destination
            at_cut = destination is not None and destination.path == cut_there
            if last is not None and (budget.used(1) or at_cut):
                left = _cut(rest_of(segment, last.path, above.snapshot()), source_tree, destination_tree)
                break
        intake.close(lambda directory: bool(left) or segment.ends_below(directory))
    writer.close(left, intake.matched.names)
    notes.end()
    return {"segment": segment.id}


# Entries after which the clock is looked at.
_ENTRIES_A_LOOK = 256


class _ProgressNotes:
    """Progress of a segment's listing, for people who watch the run."""

    def __init__(self, segment: Segment, context: Context, writer: SegmentWriter) -> None:
        self._writer = writer
        self._notes = TaskNotes("list", segment.id, context.ledger, context.nonce, context.clock.now)

    def look(self, now: float) -> None:
        """Note it if it is time to."""
        if now >= self._notes.due_at:
            self._notes.write(self._writer.listed.count, {})

    def end(self) -> None:
        self._notes.end(self._writer.listed.count)


def _late(context: Context, deadline: Deadline, notes: _ProgressNotes, number: int) -> bool:
    if number % _ENTRIES_A_LOOK == 0:
        now = context.clock.now()
        notes.look(now)
        return number >= tuning.SEGMENT_ENTRIES or now > deadline.at
    return number >= tuning.SEGMENT_ENTRIES


class _Budget:
    """The budget of a segment: entries, and time from the first of them; at least some entries fit always."""

    def __init__(self, segment: Segment, context: Context, notes: _ProgressNotes) -> None:
        self._notes = notes
        self._entries = min(segment.budget_entries, tuning.SEGMENT_ENTRIES)
        self._seconds = segment.budget_seconds
        self._clock, self._deadline, self._end = context.clock, context.deadline(), 0.0
        self._listed = self._asked = 0

    def room(self) -> int:
        """How many more entries may be listed."""
        return self._entries - self._listed

    def used(self, entries: int) -> bool:
        """Whether the budget is used up after so many more entries, or by the time that they took."""
        if not self._listed:
            self._end = min(self._deadline.at, self._clock.now() + self._seconds)
        self._listed += entries
        if self._listed - self._asked < _ENTRIES_A_LOOK:
            return self._listed >= self._entries
        self._asked, now = self._listed, self._clock.now()
        self._notes.look(now)
        return self._listed >= self._entries or now > self._end


def _cut(rest: Segment, source: Tree, destination: Tree) -> list[Segment]:
    """Cut the rest into pieces: by the source's contents or, if there are few, by the destination's."""
    return cut(rest, source.cuts(rest, rest.ways) or destination.cuts(rest, rest.ways))


def _stays(intake: Intake, extra: Entry) -> bool:
    """Whether an entry that only the destination holds is none of the run's: a client of NFS removes its own."""
    return intake.protects(extra) or is_unlinked_file(extra.path)


def _reports_extras(plan: Plan) -> bool:
    """An escaped name has no counterpart under its own path, so nothing distinguishes it from an extra one.

    A move adds to what the destination holds.
    """
    request = plan.request
    verifies = request.course.compares and not plan.proves_move
    return (verifies and knows_extras(request)) or lists_extras(request)
