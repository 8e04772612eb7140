"""ListDestination of a carried segment: what the destination holds where the earlier run had entries.

Between two mounts the function that takes entries over does not see the destination, so this one looks for it.

Looks whether an end of a transfer still holds what an earlier run saw or wrote there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from msgspec.structs import replace

from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import link_from_row, listed_outcomes, looked_up_row
from fanout.listing.list_destination import DestinationFiles, PublishedNotes, list_destination, noting_failure
from fanout.listing.lookups import LOOKUPS_IN_FLIGHT, found_at_destination
from fanout.listing.manifests.list_manifest import looked_up_there
from fanout.listing.naming.placement import Find, Naming, naming_of
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.segment import DestinationListing, Segment, cut
from fanout.ports.looking import find_now
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.resuming import rules
from fanout.shards.made_directories import made_from_row
from fanout.work.context import Context
from fanout.work.parallel import side_by_side

# Chosen: entries that one look is about; ListSegment holds them.
LOOKED_AT_ONCE = 10_000
# Chosen: a look lists so many entries for each that it is about, and at least so many; beyond that a lookup is cheaper.
LISTED_EACH = 4
LISTED_AT_LEAST = 1_000


def found_there(paths: Iterable[str], destination: ReadTree) -> dict[str, Entry]:
    """The entries that the destination holds at these paths; a path without one is missing there, or unreadable.

    One listing of the range takes a READDIR a directory, or a LIST a thousand keys. Where the range holds much else,
    the rest of the paths is looked up one by one. Raises ``ListingIncomplete``, ``Throttled`` or ``Transient``.
    """
    wanted = sorted(set(paths), key=os.fsencode)
    if not wanted:
        return {}
    [span] = cut(Segment("", after=rules.path_before(wanted[0]), until=wanted[-1]), ())
    room = max(LISTED_AT_LEAST, LISTED_EACH * len(wanted))
    asked, found, listed, last = set(wanted), {}, 0, ""
    for entry in islice(destination.list(span), room):
        listed, last = listed + 1, entry.path
        if last in asked:
            found[last] = entry
    if listed == room:
        rest = [path for path in wanted if os.fsencode(path) > os.fsencode(last)]
        found.update(_looked_up(rest, found_at_destination(destination)))
    return found


def _looked_up(paths: Sequence[str], find: Find) -> dict[str, Entry]:
    found = side_by_side(find, paths, LOOKUPS_IN_FLIGHT)
    return {path: entry for path, entry in zip(paths, found, strict=True) if entry is not None}


def pinned_anew(entries: Sequence[Entry], source: ReadTree) -> list[Entry]:
    """Entries that could not be read, pinned to the ctime of now if size and mtime are as they were listed.

    Who gives permission moves the ctime. An object has an ETag, which permission does not change.
    """

    def pinned(entry: Entry) -> Entry:
        try:
            found = None if entry.etag else find_now(source, entry.path)
        except (AccessDenied, ItemError):
            return entry  # still refused: the copy says so
        if found is None or not rules.same_but_for_ctime(entry, found):
            return entry
        return replace(entry, changed_ns=found.changed_ns)

    return side_by_side(pinned, entries, LOOKUPS_IN_FLIGHT)


FindThere = Callable[[Iterable[str]], dict[str, Entry]]


def list_or_look(segment: Segment, context: Context) -> Json:
    """ListDestination: list a segment, or look for the entries that ListSegment takes over."""
    return noting_failure(_look, segment, context) if segment.carried else list_destination(segment, context)


def look_of(segment: Segment, ledger: Ledger, destination: ReadTree | None) -> FindThere:
    """The look at the destination: at itself or, where it is not seen, at what ``list_or_look`` found."""
    if destination is not None:
        return partial(found_there, destination=destination)
    find = looked_up_there(segment, ledger).find
    return lambda paths: {path: entry for path in paths if (entry := find(path)) is not None}


def directories_of(segment: Segment, ledger: Ledger, destination: ReadTree | None) -> FindThere:
    """The same look for directories: they are few, and nothing is listed for them."""
    if destination is None:
        return look_of(segment, ledger, destination)
    return lambda paths: _looked_up(sorted(set(paths)), found_at_destination(destination))


def _look(segment: Segment, context: Context) -> Json:
    ledger = context.ledger
    plan = ledger.read_plan()
    destination = context.destination(plan)
    files, trees = DestinationFiles("looked-up", segment, context), PublishedNotes(destination, segment)
    paths = _paths(ledger.read(rules.carried_key.at(segment.carried)), plan, ledger)
    while some := list(islice(paths, LOOKED_AT_ONCE)):
        found = found_there(some, destination)
        for path in some:
            files.add(looked_up_row(path, found.get(path)))
            trees.see(path, found.get(path))
    listing = DestinationListing([], "", files.close(), 0, trees.notes)
    ledger.write(keys.destination_listing_key(segment.id), listing)
    return {"segment": segment.id, "count": files.count}


def _paths(carried: rules.Carried, plan: Plan, ledger: Ledger) -> Iterator[str]:
    earlier = ledger.of_run(carried.run_id)
    place_of = naming_of(plan, lambda _path: None)
    for part in carried.parts:
        yield from _paths_of(part, place_of, earlier)


def _paths_of(part: rules.CarriedPart, place_of: Naming, earlier: Ledger) -> Iterator[str]:
    match part:
        case rules.CarriedOutcomes():
            for outcomes in earlier.read_rows_as(part.key, lambda row: list(listed_outcomes(row))):
                for one in outcomes:
                    yield place_of(Entry(one.path, Kind(one.kind), one.size), ()).path
        case rules.CarriedShard():
            yield from (entry.placed.path for entry in earlier.read_shard(part.shard))
        case rules.CarriedLinks():
            if part.copies is not None:
                yield from (entry.placed.path for entry in earlier.read_shard(part.copies))
            rows = earlier.read_rows_as(part.shard.key, link_from_row, part.shard.entries)
            yield from (entry.placed.path for entry, _ in rows)
        case rules.CarriedDirectories():
            yield from earlier.read_rows_as(part.key, lambda row: made_from_row(row).path, part.rows)
        case rules.CarriedBigFile():
            yield earlier.read(keys.big_file_key.at(part.key)).entry.placed.path
