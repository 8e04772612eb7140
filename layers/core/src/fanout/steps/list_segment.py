"""ListSegment: lists both ends of a segment, decides, and writes shards and outcomes as entries stream by."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fanout.domain import ledger_keys as keys
from fanout.domain import limits
from fanout.domain.decisions import Compare, Decision, decide
from fanout.domain.entries import Entry, Kind
from fanout.domain.errors import FanoutError
from fanout.domain.hard_links import Name
from fanout.domain.merge import merge
from fanout.domain.names import FilesAbove
from fanout.domain.naming import OnConflict, Place, naming_rule
from fanout.domain.outcomes import Reason, Result, result_of
from fanout.domain.plan import Plan
from fanout.domain.request import Mode, Request, Symlinks
from fanout.domain.rows import (
    Json,
)
from fanout.domain.segments import Segment, split_rest
from fanout.steps.context import Context
from fanout.steps.list_destination import cut_of
from fanout.steps.lookups import LookupQueue
from fanout.steps.segment_writer import SegmentWriter


def list_segment(segment: Segment, context: Context) -> Json:
    """List a segment; an error is noted in the ledger, because the Map that runs this hides it."""
    try:
        return _list_segment(segment, context)
    except FanoutError as error:
        row = {"segment": segment.id, "error": type(error).__name__, "message": str(error)}
        context.ledger.write_json(keys.segment_failed_key(segment.id), row)
        raise


def _list_segment(segment: Segment, context: Context) -> Json:
    """List a segment until it ends, the time is up, or ``limits.SEGMENT_ENTRIES`` are listed.

    Returns nothing of size: the segment's record in the ledger holds the counts, the
    shards and the segments that are left. Raises ``ListingIncomplete``, ``Throttled``
    or ``Transient`` if an end can not be listed, and then nothing counts.
    """
    plan = context.ledger.read_plan()
    request = plan.request
    source_tree, destination_tree = context.source(plan), context.destination(plan)
    writer = SegmentWriter(plan, segment, context, source_tree, destination_tree)
    place_of = naming_rule(request.source, request.destination, request.on_conflict, source_tree.find)
    above = FilesAbove(segment.files_above)
    stop_at = context.stop_at
    left: list[Segment] = []
    cut = cut_of(segment, plan, context.ledger)
    pairs = merge(source_tree.list(segment), destination_tree.list(segment))
    with LookupQueue(destination_tree.find, partial(_settle, writer, plan)) as queue:
        for number, (source, destination) in enumerate(pairs, start=1):
            if source is not None:
                place = place_of(source, above.parents(source.path))
                if place.reason is None and source.kind is Kind.FILE:
                    above.add(source.path)
                queue.add(source, destination, place)
            elif destination is not None and _reports_extras(request):
                writer.extra(destination)
            late = number % 256 == 0 and context.clock.now() > stop_at
            late = late or (destination is not None and destination.path == cut)
            last = source or destination
            if last is not None and (late or number >= limits.SEGMENT_ENTRIES):
                left = split_rest(segment, last.path, above.snapshot())
                break
    writer.close(left)
    return {"segment": segment.id}


def _reports_extras(request: Request) -> bool:
    """An escaped name has no counterpart under its own path, so it can not be told from an extra one."""
    return request.mode is Mode.VERIFY and request.on_conflict in (OnConflict.FAIL, OnConflict.SKIP)


def _settle_verification(writer: SegmentWriter, source: Entry, destination: Entry | None) -> None:
    """What the listing alone can tell; the rest goes into shards, to be compared by checksum."""
    decision = decide(source, destination, Compare.ALWAYS)
    if destination is None:
        writer.settle(source, Result.FAILED, Reason.MISSING)
    elif decision is Decision.UNCHANGED:
        writer.settle(source, Result.UNCHANGED, Reason.SAME)
    elif decision is Decision.CONFLICT or source.size != destination.size:
        writer.settle(source, Result.FAILED, Reason.DIFFERS)
    else:
        writer.copy(source, is_new=False)


def _settle(writer: SegmentWriter, plan: Plan, source: Entry, destination: Entry | None, place: Place) -> None:
    writer.begin(source)
    if place.path != source.path:
        source = replace(source, target=place.path)
    if source.kind is Kind.UNLISTABLE:
        writer.complete = False
        writer.settle(source, Result.FAILED, Reason.UNLISTABLE)
    elif place.reason is not None:
        writer.settle(source, place.result, place.reason)
    elif source.problem is not None:
        writer.settle(source, result_of(source.problem), source.problem)
    elif source.kind is Kind.SPECIAL:
        writer.settle(source, Result.SKIPPED, Reason.SPECIAL_FILE)
    elif source.kind is Kind.SYMLINK and plan.request.symlinks is Symlinks.SKIP:
        writer.settle(source, Result.SKIPPED, Reason.SYMLINK)
    elif plan.request.mode is Mode.VERIFY:
        _settle_verification(writer, source, destination)
    else:
        decision = decide(source, destination, plan.request.compare)
        if source.inode and decision is not Decision.CONFLICT:
            there = destination.inode if destination is not None else ""
            writer.name(Name(source, decision is Decision.UNCHANGED, there))
        elif decision is Decision.COPY:
            writer.copy(source, is_new=destination is None or source.kind is not Kind.DIRECTORY)
        elif decision is Decision.UNCHANGED:
            writer.unchanged(source)
        else:
            writer.settle(source, Result.REJECTED, Reason.DESTINATION_KIND)
