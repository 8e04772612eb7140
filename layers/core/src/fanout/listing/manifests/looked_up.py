"""Paths of a manifest at a destination that ListSegment does not see: looked up there, read here."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from msgspec import Struct

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import looked_up_from_row
from fanout.listing.lookups import LOOKUPS_IN_FLIGHT, WAITING, Find, found_at_destination
from fanout.listing.manifests.list_manifest import row_of
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.model.directories import parents_of
from fanout.model.entry import Entry
from fanout.model.segment import DestinationListing, Segment
from fanout.ports.tree import Tree
from fanout.request.plan import Plan

# Paths that one ListDestination looks up; ListSegment holds what it found, some 40 MiB.
LOOKED_UP_PATHS = 100_000

Take = Callable[[str, Entry | None], None]


class Looks(Struct, frozen=True):
    """``find`` of the destination; ``rows`` of the manifest are answered for, or all where it is 0."""

    find: Find
    rows: int = 0


def seen_there(plan: Plan, segment: Segment, ledger: Ledger, destination: Tree) -> Looks:
    """The looks at a segment's destination: at itself or, between two mounts, at what ListDestination found.

    There ``find`` raises ``LedgerBroken`` for a path that was not looked up: it is never taken for one that is missing.
    """
    if not plan.request.between_mounts or plan.request.manifest is None or segment.carried:
        return Looks(found_at_destination(destination))
    key = keys.destination_listing_key(segment.id)
    listing = ledger.read(key, DestinationListing)
    known = dict(row for file in listing.looked_up for row in ledger.read_rows_as(file, looked_up_from_row))

    def find(path: str) -> Entry | None:
        if path not in known:
            raise ledger.broken(key, f"does not say what the destination holds at {path!r}")
        return known[path]

    return Looks(find, listing.rows)


def look_up_rows(lines: ManifestLines, plan: Plan, find: Find, take: Take, is_late: Callable[[int], bool]) -> int:
    """Look up the paths that the lines of a part name, and the directories above them; each goes to ``take`` once.

    Returns the number of rows after which it broke off, because ``is_late`` said so or ``LOOKED_UP_PATHS`` were looked
    up, or 0 at the end of the part. Raises ``InvalidRequest`` if the manifest cannot be read.
    """
    asked: set[str] = set()
    waiting: deque[tuple[str, Future[Entry | None]]] = deque()

    def take_down_to(count: int) -> None:
        while len(waiting) > count:
            path, found = waiting.popleft()
            take(path, found.result())

    broke_off = 0
    with ThreadPoolExecutor(LOOKUPS_IN_FLIGHT, thread_name_prefix="manifest") as pool:
        try:
            for number, line in enumerate(lines, start=1):
                row = row_of(line, plan, lines) if line != b"" else None
                if row is not None and row.reason is None:
                    paths = (*parents_of(row.path), *(() if row.subtree else (row.path,)))
                    new = [path for path in paths if path not in asked]
                    asked.update(new)
                    waiting.extend((path, pool.submit(find, path)) for path in new)
                take_down_to(WAITING)
                if number >= tuning.SEGMENT_ENTRIES or len(asked) >= LOOKED_UP_PATHS or is_late(number):
                    broke_off = number
                    break
            take_down_to(0)
        finally:
            pool.shutdown(cancel_futures=True)
    return broke_off


def directories_before(segment: Segment) -> Iterator[str]:
    """The directories above a segment's entries that are not in it; a listing of the segment does not show them."""
    above = [path for end in (segment.prefix, segment.after) for path in (*parents_of(end), end) if path.endswith("/")]
    yield from dict.fromkeys(above)
