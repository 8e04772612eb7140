"""ListDestination of a carried segment: what the destination holds where the earlier run had entries.

Between two mounts the function that takes entries over does not see the destination, so this one looks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import link_from_row, listed_outcomes, looked_up_from_row, looked_up_row
from fanout.listing.list_destination import DestinationFiles, PublishedNotes, list_destination
from fanout.listing.list_segment import noting_failure
from fanout.listing.naming.placement import Naming, naming_of
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.segment import DestinationListing, Segment
from fanout.model.shard import BigFile
from fanout.ports.tree import Tree
from fanout.request.plan import Plan
from fanout.resuming.rules import Carried, CarriedBigFile, CarriedLinks, CarriedOutcomes, CarriedShard, Part
from fanout.resuming.standing import LOOKED_AT_ONCE, found_there
from fanout.work.context import Context

FindThere = Callable[[Iterable[str]], dict[str, Entry]]


def list_or_look(segment: Segment, context: Context) -> Json:
    """ListDestination: list a segment, or look for the entries that ListSegment takes over."""
    return noting_failure(_look, segment, context) if segment.carried else list_destination(segment, context)


def look_of(plan: Plan, segment: Segment, ledger: Ledger, destination: Tree) -> FindThere:
    """The look at the destination: at itself or, between two mounts, at what ``list_or_look`` found.

    There it raises ``LedgerBroken`` for a path that was not looked for: it is never taken for one that is missing.
    """
    if not plan.request.between_mounts:
        return partial(found_there, destination=destination)
    key = keys.destination_listing_key(segment.id)
    files = ledger.read(key, DestinationListing).looked_up
    known = dict(row for file in files for row in ledger.read_rows_as(file, looked_up_from_row))

    def look(paths: Iterable[str]) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for path in paths:
            if path not in known:
                raise ledger.broken(key, f"does not say what the destination holds at {path!r}")
            if (entry := known[path]) is not None:
                found[path] = entry
        return found

    return look


def _look(segment: Segment, context: Context) -> Json:
    ledger = context.ledger
    plan = ledger.read_plan()
    destination = context.destination(plan)
    files, trees = DestinationFiles("looked-up", segment, context), PublishedNotes(destination, segment)
    paths = _paths(ledger.read(segment.carried, Carried), plan, ledger)
    while some := list(islice(paths, LOOKED_AT_ONCE)):
        found = found_there(some, destination)
        for path in some:
            files.add(looked_up_row(path, found.get(path)))
            trees.see(path, found.get(path))
    listing = DestinationListing([], "", files.close(), 0, trees.notes)
    ledger.write(keys.destination_listing_key(segment.id), listing)
    return {"segment": segment.id, "count": files.count}


def _paths(carried: Carried, plan: Plan, ledger: Ledger) -> Iterator[str]:
    earlier = ledger.of_run(carried.run_id)
    place_of = naming_of(plan, lambda _path: None)
    for part in carried.parts:
        yield from _paths_of(part, place_of, earlier)


def _paths_of(part: Part, place_of: Naming, earlier: Ledger) -> Iterator[str]:
    match part:
        case CarriedOutcomes():
            for outcomes in earlier.read_rows_as(part.key, lambda row: list(listed_outcomes(row))):
                for one in outcomes:
                    yield place_of(Entry(one.path, Kind(one.kind), one.size), ()).path
        case CarriedShard():
            yield from (entry.placed.path for entry in earlier.read_shard(part.shard))
        case CarriedLinks():
            if part.copies is not None:
                yield from (entry.placed.path for entry in earlier.read_shard(part.copies))
            rows = earlier.read_rows_as(part.shard.key, link_from_row, part.shard.entries)
            yield from (entry.placed.path for entry, _ in rows)
        case CarriedBigFile():
            yield earlier.read(part.key, BigFile).entry.placed.path
