"""ListDestination: what a segment holds at a destination that ListSegment does not see."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.documents import SegmentFailed
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import entry_from_row, entry_row, looked_up_row
from fanout.listing.deciding.published import note_in
from fanout.listing.directories.parent_directories import may_be_left_out
from fanout.listing.lookups import found_at_destination
from fanout.listing.manifests.list_manifest import directories_before, look_up_rows
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.model.document import Json
from fanout.model.entry import Entry, Kind
from fanout.model.errors import FanoutError
from fanout.model.segment import DestinationListing, Segment
from fanout.ports.tree import ReadTree
from fanout.request.parts.publish import roots_in
from fanout.request.plan import Plan
from fanout.work.context import Context
from fanout.work.garbage import rare_collections

ENTRIES_PER_FILE = 50_000


def list_destination(segment: Segment, context: Context) -> Json:
    """Write the destination's entries of a segment; an error is noted in the ledger as ListSegment notes its own."""
    return noting_failure(_list_destination, segment, context)


def noting_failure(work: Callable[[Segment, Context], Json], segment: Segment, context: Context) -> Json:
    """Work on a segment; an error is noted in the ledger, because the Map that runs this hides it."""
    try:
        with rare_collections():
            return work(segment, context)
    except FanoutError as error:
        failed = SegmentFailed(segment.id, type(error).__name__, str(error))
        context.ledger.write(keys.segment_failed_key(segment.id), failed)
        raise


def _list_destination(segment: Segment, context: Context) -> Json:
    """List until the segment ends, the time is up, or ``tuning.SEGMENT_ENTRIES`` are listed.

    Of a manifest its rows are looked up instead. ``cut``, or ``rows`` of a manifest, says where it broke off, where it
    did: ListSegment goes no further.
    """
    ledger = context.ledger
    plan = ledger.read_plan()
    context = context.within(plan)
    deadline = context.deadline()
    listed, looked_up = DestinationFiles("entries", segment, context), DestinationFiles("looked-up", segment, context)
    destination = context.destination(plan)
    find = found_at_destination(destination)
    trees = PublishedNotes(destination, segment)

    def take(path: str, entry: Entry | None) -> None:
        looked_up.add(looked_up_row(path, entry))
        trees.see(path, entry)

    cut, rows, number = "", 0, 0
    if segment.manifest is not None:
        assert plan.request.manifest is not None
        lines = ManifestLines(context.ends.objects(plan), plan.request.manifest, segment.manifest, deadline)
        is_late = lambda number: number % 256 == 0 and deadline.passed  # noqa: E731
        rows = look_up_rows(lines, plan, find, take, is_late)
    else:
        if may_be_left_out(plan, segment):
            for directory in directories_before(segment):
                take(directory, find(directory))
        for number, entry in enumerate(destination.list(segment, plan.request.filters.prunes), start=1):
            listed.add(entry_row(entry))
            trees.see(entry.path, entry)
            if number >= tuning.SEGMENT_ENTRIES or (number % 256 == 0 and deadline.passed):
                cut = entry.path
                break
    found = DestinationListing(listed.close(), cut, looked_up.close(), rows, trees.notes)
    ledger.write(keys.destination_listing_key(segment.id), found)
    return {"segment": segment.id, "count": listed.count + looked_up.count}


class PublishedNotes:
    """The notes of the published trees that a segment's entries may belong to, by root."""

    def __init__(self, destination: ReadTree, segment: Segment) -> None:
        self._destination = destination
        self._asked: set[str] = set()
        self.notes: dict[str, str] = {}
        for bound in (segment.prefix, segment.after):
            self._ask(roots_in(bound))

    def see(self, path: str, entry: Entry | None) -> None:
        """Take a path and what is there; a symlink may be the link of a tree."""
        self._ask(roots_in(path))
        if entry is not None and entry.kind is Kind.SYMLINK:
            self._ask([path[: path.rfind("/") + 1]])

    def _ask(self, roots: Iterable[str]) -> None:
        for root in roots:
            if root not in self._asked:
                self._asked.add(root)
                note = note_in(self._destination, root)
                if note is not None:
                    self.notes[root] = note


class DestinationFiles:
    """Rows of a segment in files of bounded size, which no other attempt names."""

    def __init__(self, what: str, segment: Segment, context: Context) -> None:
        self._what, self._segment, self._context = what, segment, context
        self._rows: list[list[object]] = []
        self._keys: list[str] = []
        self.count = 0

    def add(self, row: list[object]) -> None:
        self._rows.append(row)
        self.count += 1
        if len(self._rows) >= ENTRIES_PER_FILE:
            self._write()

    def close(self) -> list[str]:
        """Write what is held; returns the keys of the files."""
        if self._rows:
            self._write()
        return self._keys

    def _write(self) -> None:
        key = keys.destination_entries_key(self._segment.id, self._what, self._context.nonce, len(self._keys))
        self._context.ledger.write_rows(key, self._rows)
        self._keys.append(key)
        self._rows = []


def listed_there(segment: Segment, ledger: Ledger) -> Iterator[Entry]:
    """The destination's entries, as far as ListDestination listed them; it left out what is pruned."""
    for key in ledger.read(keys.destination_listing_key(segment.id)).files:
        yield from ledger.read_rows_as(key, entry_from_row)


def cut_of(segment: Segment, plan: Plan, ledger: Ledger) -> str:
    """The path at which a listing of the destination by another function broke off; empty where none did."""
    if not plan.request.between_mounts:
        return ""
    return ledger.read(keys.destination_listing_key(segment.id)).cut


def noted_trees(segment: Segment, ledger: Ledger) -> dict[str, str]:
    """The notes of published trees, by root, as ListDestination found them."""
    return ledger.read(keys.destination_listing_key(segment.id)).published
