"""A segment that is a part of a manifest: its rows are looked up at both ends instead of being listed.

Between two mounts ListDestination looks them up at the destination, and ListSegment reads what it found.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial

from msgspec import Struct
from msgspec.structs import replace

from fanout.facts import tuning
from fanout.ledger import keys
from fanout.ledger.ledger import Ledger
from fanout.ledger.rows import looked_up_from_row
from fanout.listing.intake import Add, Intake
from fanout.listing.lookups import LOOKUPS_IN_FLIGHT, WAITING, found_at_destination, found_for_listing
from fanout.listing.manifests.manifest_lines import ManifestLines
from fanout.listing.manifests.manifest_rows import BrokenRow, decoded, read_row
from fanout.listing.naming.placement import Find, Placement, naming_of
from fanout.model.entry import Entry, Kind
from fanout.model.errors import AccessDenied, ItemError
from fanout.model.outcome import Reason
from fanout.model.path_rules import parents_of
from fanout.model.segment import Row, Segment
from fanout.ports.looking import find_now
from fanout.ports.tree import ReadTree
from fanout.request.plan import Plan
from fanout.work.parallel import ahead

# Directories whose keys were looked up for files of their names.
_DIRECTORIES_KEPT = 10_000
# Directories to list that one segment hands back.
_SUBTREES = 1_000

Refuse = Callable[[Row], None]
TimeIsUp = Callable[[int], bool]


class Lookups:
    """Looks up a row's path at both ends. Many threads look up at once."""

    def __init__(self, plan: Plan, source: ReadTree, find_there: Find) -> None:
        request = plan.request
        self._filters = request.filters
        self._source, self._find_there = source, find_there
        self._proves_move, self._encodes = plan.proves_move, request.source.is_keyed
        self._find = found_for_listing(source)
        self._place_of = naming_of(plan, self._find)
        between = request.source.is_keyed and not request.destination.is_keyed
        self._is_file = lru_cache(_DIRECTORIES_KEPT)(self._find_file) if between else None

    def __call__(self, row: Row) -> tuple[Row, Entry | None, Placement]:
        """Return the row, its entry or the reason why it has none, the destination's entry, and its place."""
        if row.entry is None:
            row = self._at_source(row)
        entry = row.entry
        if entry is None or self._is_left_out(entry):
            return row, None, Placement(row.path)
        place = self._place_of(entry, self._files_above(entry.path))
        return row, None if place.reason else self._find_there(place.path), place

    def _is_left_out(self, entry: Entry) -> bool:
        """Whether the filters skip it, whatever else is taken: a directory goes with what is in it."""
        reason = self._filters.reason(entry)
        return reason is not None and (reason is not Reason.NOT_INCLUDED or entry.kind is not Kind.DIRECTORY)

    def _at_source(self, row: Row) -> Row:
        try:
            entry = find_now(self._source, row.path)
        except AccessDenied as error:
            return replace(row, reason=Reason.SOURCE_DENIED, message=str(error))
        except ItemError as error:
            return replace(row, reason=Reason.NOT_AT_SOURCE, message=error.message)
        if entry is None:
            return replace(row, reason=Reason.NOT_THERE if row.may_be_missing else self._why_missing(row.path))
        # Only a deletion needs to know that a file has other names: a manifest's are copied one by one.
        return replace(row, entry=entry if self._proves_move or not entry.inode else replace(entry, inode=""))

    def _why_missing(self, path: str) -> Reason:
        key = decoded(path)
        is_encoded = self._encodes and key != path and self._find(key) is not None
        return Reason.KEY_ENCODED if is_encoded else Reason.NOT_AT_SOURCE

    def _files_above(self, path: str) -> tuple[str, ...]:
        """The keys above a key that are files. A listing meets them on its way; a manifest may omit them."""
        if self._is_file is None:
            return ()
        above = [path[:at] for at in range(1, len(path)) if path[at] == "/"]
        return tuple(key for key in above if self._is_file(key))

    def _find_file(self, path: str) -> bool:
        entry = self._find(path)
        return entry is not None and entry.kind is Kind.FILE and self._filters.reason(entry) is None


def list_manifest(
    lines: ManifestLines, plan: Plan, lookups: Lookups, settle: Add, refuse: Refuse, late: TimeIsUp
) -> list[Segment]:
    """Settle the lines of a part until it ends, ``late`` says so or ``tuning.SEGMENT_ENTRIES`` are settled.

    ``refuse`` takes rows without an entry. Returns the remaining work: the rest of the part, and directories that
    an earlier run could not list. Raises ``InvalidRequest`` if the manifest cannot be read.
    """
    left: list[Segment] = []
    waiting: deque[Future[tuple[Row, Entry | None, Placement]]] = deque()
    intake = Intake(plan.request.filters, settle)
    implied_by = _Implied()

    def settle_down_to(count: int) -> None:
        while len(waiting) > count:
            row, destination, place = waiting.popleft().result()
            if row.entry is not None:
                if not implied_by.gave(row):
                    intake.add(row.entry, destination, partial(_same, place))
            elif not row.implied:
                refuse(row)

    with ThreadPoolExecutor(LOOKUPS_IN_FLIGHT, thread_name_prefix="manifest") as pool:
        try:
            for number, line in enumerate(lines, start=1):
                row = row_of(line, plan, lines) if line != b"" else None
                if row is not None and row.reason is not None:
                    refuse(row)
                elif row is not None:
                    if row.subtree:
                        left.append(Segment("", prefix=row.path))
                    listed_here = () if row.subtree else (row,)
                    waiting.extend(pool.submit(lookups, one) for one in (*implied_by(row), *listed_here))
                settle_down_to(WAITING)
                if late(number) or len(left) >= _SUBTREES:
                    left.append(Segment("", manifest=lines.rest))
                    break
            settle_down_to(0)
        finally:
            pool.shutdown(cancel_futures=True)
    intake.close(lambda _directory: bool(left))
    return left


class _Implied:
    """The directories above the rows of a verification, each once, whether or not it has a row of its own as well.

    Of many that are far apart in the manifest one may come again.
    """

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._given: dict[str, None] = {}

    def __call__(self, row: Row) -> list[Row]:
        if not row.of_verification:
            return []
        new = [path for path in parents_of(row.path) if path not in self._known]
        self._keep(self._known, (*new, row.path) if row.path.endswith("/") else new)
        return [Row(path, implied=True) for path in new]

    def gave(self, row: Row) -> bool:
        """Whether a row with an entry names a directory that was given because of another row; notes one that is."""
        if row.implied:
            self._keep(self._given, (row.path,))
        return not row.implied and row.path in self._given

    @staticmethod
    def _keep(kept: dict[str, None], paths: Iterable[str]) -> None:
        kept.update(dict.fromkeys(paths))
        while len(kept) > _DIRECTORIES_KEPT:
            del kept[next(iter(kept))]


def _same(place: Placement) -> Placement:
    return place


def row_of(line: bytes | None, plan: Plan, lines: ManifestLines) -> Row | None:
    """The row of a line. A row that cannot be read, or is excluded, has no entry; its reason says why.

    Raises ``InvalidRequest`` if too many rows cannot be read.
    """
    try:
        if line is None:
            raise BrokenRow(f"has over {tuning.MANIFEST_ROW_BYTES:,} bytes; write a row to a line")
        row = read_row(line, lines.part, plan.request)
    except BrokenRow as error:
        lines.note_broken()
        return Row(lines.where, reason=Reason.MANIFEST_ROW, message=f"{lines.where} {error}")
    if row is not None and plan.request.filters.prunes(row.path):
        return Row(row.path, reason=Reason.EXCLUDED)
    return row


# Paths that one ListDestination looks up; ListSegment holds what it found, some 40 MiB.
LOOKED_UP_PATHS = 100_000

Take = Callable[[str, Entry | None], None]


class Looks(Struct, frozen=True):
    """``find`` of the destination; ``rows`` of the manifest are answered for, or all where it is 0."""

    find: Find
    rows: int = 0


def seen_there(segment: Segment, ledger: Ledger, destination: ReadTree | None) -> Looks:
    """The looks at a segment's destination: at itself or, where it is not seen, at what ListDestination found."""
    if destination is not None:
        return Looks(found_at_destination(destination))
    if segment.manifest is not None:
        return looked_up_there(segment, ledger)
    return Looks(lambda path: looked_up_there(segment, ledger).find(path))  # of a listed segment no path is asked for


def looked_up_there(segment: Segment, ledger: Ledger) -> Looks:
    """The looks at what ListDestination found of a segment.

    ``find`` raises ``LedgerBroken`` for a path that was not looked up: it is never taken for one that is missing.
    """
    key = keys.destination_listing_key(segment.id)
    listing = ledger.read(key)
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
    broke_off = 0

    def new_paths() -> Iterator[str]:
        nonlocal broke_off
        for number, line in enumerate(lines, start=1):
            row = row_of(line, plan, lines) if line != b"" else None
            if row is not None and row.reason is None:
                paths = (*parents_of(row.path), *(() if row.subtree else (row.path,)))
                new = [path for path in paths if path not in asked]
                asked.update(new)
                yield from new
            if number >= tuning.SEGMENT_ENTRIES or len(asked) >= LOOKED_UP_PATHS or is_late(number):
                broke_off = number
                return

    for path, found in ahead(find, new_paths(), LOOKUPS_IN_FLIGHT):
        take(path, found)
    return broke_off


def directories_before(segment: Segment) -> Iterator[str]:
    """The directories above a segment's entries that are not in it; a listing of the segment does not show them."""
    above = [path for end in (segment.prefix, segment.after) for path in (*parents_of(end), end) if path.endswith("/")]
    yield from dict.fromkeys(above)
