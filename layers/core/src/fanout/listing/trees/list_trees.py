"""A segment of two trees: both are listed, merged, and each pair is decided and written in its turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from fanout.listing.budget import Budget
from fanout.listing.destination_process import listed_apart
from fanout.listing.directories.extra_writer import lists_extras
from fanout.listing.intake import Intake
from fanout.listing.list_destination import cut_of, listed_there
from fanout.listing.lookups import LookupQueue, found_for_listing
from fanout.listing.naming.places import Places
from fanout.listing.pieces import list_end, of_source
from fanout.listing.segment_task import SegmentTask
from fanout.listing.trees.march import march
from fanout.listing.trees.merge import merge_columns
from fanout.listing.trees.together import Together
from fanout.model.columns import FileColumns, Listed
from fanout.model.entry import Entry, Kind
from fanout.model.path_rules import is_unlinked_file
from fanout.model.segment import Segment, cut, no_pruning, rest_of
from fanout.request.plan import Plan
from fanout.request.request import knows_extras


def list_trees(task: SegmentTask, queue: LookupQueue) -> tuple[list[Segment], list[str] | None]:
    """List both ends until the segment ends or its budget is used.

    Returns the pieces of what is left, and the globs that matched.
    """
    plan, segment, context = task.plan, task.segment, task.context
    budget = Budget(segment.budget_entries, context.deadline(), task.notes, segment.budget_seconds)
    places = Places(plan, segment, found_for_listing(task.source))
    intake = Intake(plan.request.filters, queue.add)
    together = Together(plan, places.of_next, budget.room, task.proofs.unchanged_lengths)
    list_here, list_there = _listings(task)
    left: list[Segment] = []
    with listed_apart(list_there, context.stack.crew if context.ends.forks(plan) else None) as there:
        pairs = merge_columns(of_source(list_here(), task.source, plan.request.source), there)
        last = march(together.apart(pairs), TreeMarcher(task, queue, intake, places, budget))
        if last is not None:
            rest = rest_of(segment, last, places.above.snapshot())
            left = cut(rest, _cuts(task, rest))
        intake.close(lambda directory: bool(left) or segment.ends_below(directory))
    return left, intake.matched.names


def _cuts(task: SegmentTask, rest: Segment) -> Sequence[str]:
    """Cuts by the source's contents or, if there are few, by the destination's."""
    found = task.source.cuts(rest, rest.ways)
    return found if found or task.destination is None else task.destination.cuts(rest, rest.ways)


def _listings(task: SegmentTask) -> tuple[Callable[[], Iterator[Listed]], Callable[[], Iterator[Listed]]]:
    """The listings of both ends. Between two mounts ListDestination has listed the destination."""
    plan, segment = task.plan, task.segment
    request, marks = plan.request, task.earlier.marks
    prunes = request.filters.prunes if request.filters.exclude else no_pruning
    here = partial(list_end, task.source, request.source, segment, marks, prunes)
    if task.destination is None:
        return here, partial(listed_there, segment, task.context.ledger)
    return here, partial(list_end, task.destination, request.destination, segment, marks, prunes)


class TreeMarcher:
    """Takes what the march meets: the source's entries to the intake, and what only the destination holds as extra."""

    def __init__(self, task: SegmentTask, queue: LookupQueue, intake: Intake, places: Places, budget: Budget) -> None:
        self._entries, self._queue, self._intake = task.entries, queue, intake
        self._places, self._budget = places, budget
        self._reports_extras = _reports_extras(task.plan)
        self._cut_there = cut_of(task.segment, task.plan, task.context.ledger)

    def files(self, source: FileColumns, destination: FileColumns | None) -> bool:
        self._intake.take_files(source)
        self._queue.run(partial(self._entries.take_files, source, destination), len(source))
        if self._places.may_be_both:
            self._places.above.add_files(source.paths)
        return self._budget.used(len(source))

    def source_only(self, source: Entry) -> bool:
        if self._entries.counts_scope:
            self._entries.seen(source, None)
        return self._take(source, None)

    def destination_only(self, destination: Entry) -> bool:
        self._see(None, destination)
        if self._reports_extras and not self._stays(destination):
            self._queue.run(partial(self._entries.extra, destination))
        return self._budget.used(1) or destination.path == self._cut_there

    def both(self, source: Entry, destination: Entry) -> bool:
        self._see(source, destination)
        return self._take(source, destination) or destination.path == self._cut_there

    def _see(self, source: Entry | None, destination: Entry) -> None:
        if destination.kind is Kind.DIRECTORY:
            # In its turn: entries below the directory are settled before it and must not find another one in its
            # place.
            self._queue.run(partial(self._entries.seen, source, destination))
        else:
            self._entries.seen(source, destination)

    def _take(self, source: Entry, destination: Entry | None) -> bool:
        place_of = partial(self._places.of, source, self._places.files_above(source.path))
        place = self._intake.add(source, destination, place_of)
        if self._places.may_be_both and place.reason is None and source.kind is Kind.FILE:
            self._places.above.add(source.path)
        return self._budget.used(1)

    def _stays(self, extra: Entry) -> bool:
        """Whether an entry that only the destination holds is none of the run's: a client of NFS removes its own."""
        return self._intake.protects(extra) or is_unlinked_file(extra.path)


def _reports_extras(plan: Plan) -> bool:
    """An escaped name has no counterpart under its own path, so nothing distinguishes it from an extra one.

    A move adds to what the destination holds.
    """
    request = plan.request
    verifies = request.course.compares and not plan.proves_move
    return (verifies and knows_extras(request)) or lists_extras(request)
