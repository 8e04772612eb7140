"""Looks whether an end of a transfer still holds what an earlier run saw or wrote there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from msgspec.structs import replace

from fanout.listing.lookups import LOOKUPS_IN_FLIGHT, Find, found_at_destination
from fanout.model.entry import Entry
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.segment import Segment, cut
from fanout.ports.tree import Tree
from fanout.resuming.rules import path_before, same_but_for_ctime

# Chosen: entries that one look is about; ListSegment holds them.
LOOKED_AT_ONCE = 10_000
# Chosen: a look lists so many entries for each that it is about, and at least so many; beyond that a lookup is cheaper.
LISTED_EACH = 4
LISTED_AT_LEAST = 1_000


def found_there(paths: Iterable[str], destination: Tree) -> dict[str, Entry]:
    """The entries that the destination holds at these paths; a path without one is missing there, or unreadable.

    One listing of the range takes a READDIR a directory, or a LIST a thousand keys. Where the range holds much else,
    the rest of the paths is looked up one by one. Raises ``ListingIncomplete``, ``Throttled`` or ``Transient``.
    """
    wanted = sorted(set(paths), key=os.fsencode)
    if not wanted:
        return {}
    [span] = cut(Segment("", after=path_before(wanted[0]), until=wanted[-1]), ())
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
    with ThreadPoolExecutor(LOOKUPS_IN_FLIGHT, thread_name_prefix="look") as pool:
        return {path: entry for path, entry in zip(paths, pool.map(find, paths), strict=True) if entry is not None}


def pinned_anew(entries: Sequence[Entry], source: Tree) -> list[Entry]:
    """Entries that could not be read, pinned to the ctime of now if size and mtime are as they were listed.

    Who gives permission moves the ctime. An object has an ETag, which permission does not change.
    """

    def pinned(entry: Entry) -> Entry:
        try:
            found = None if entry.etag else source.find(entry.path)
        except (AccessDenied, ItemError):
            return entry  # still refused: the copy says so
        if found is None or not same_but_for_ctime(entry, found):
            return entry
        return replace(entry, changed_ns=found.changed_ns)

    with ThreadPoolExecutor(LOOKUPS_IN_FLIGHT, thread_name_prefix="pin") as pool:
        return list(pool.map(pinned, entries))
