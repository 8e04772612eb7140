"""The index of a run, as ListSegment writes it, and that of the last run of the same transfer that succeeded."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable
from gzip import BadGzipFile
from itertools import groupby

from fanout.ledger import keys, run_places
from fanout.ledger.ledger import Ledger
from fanout.listing.index.copied_index import (
    EARLIER,
    INDEX,
    NEXT,
    Index,
    IndexFiles,
    IndexOf,
    IndexPart,
    IndexRows,
    Verdict,
    indexed_kinds,
    keeps_index,
    transfer_digest,
)
from fanout.model.columns import FileColumns
from fanout.model.entry import MARGIN_NS, SECOND_NS, Entry
from fanout.model.errors import InvalidRequest, LedgerBroken
from fanout.model.segment import Segment
from fanout.request.plan import Plan
from fanout.shards.round_records import IndexFile, whole_listing
from fanout.work.context import Context

# Errors of a file that is missing or is not part of an index; store errors are not among them.
_UNREADABLE = (LedgerBroken, InvalidRequest, ValueError, KeyError, TypeError, EOFError, BadGzipFile, zlib.error)
# A part that holds no path.
_NOTHING = IndexPart(iter(()))
# Parts held in memory: lookups come in path order, except some entries that are settled a little later.
_HELD = 2


def find_named_index(plan: Plan, ledger: Ledger) -> tuple[str, Exception | None]:
    """The run whose index the run of a plan is to use; none if none is named, or it cannot be read, and then why.

    Not for a run that publishes: what it uses is that of the version before, see ``note_version_before``. May be asked
    before the run has its turn: an index that is no longer the last one vouches for no more, as both ends must be as it
    says.
    """
    indexes, name = ledger.of_run(run_places.INDEXES), NEXT(transfer_digest(plan))
    if not _uses_named_index(plan) or not indexes.has(name):
        return "", None
    try:
        run_id = indexes.read(name).run
        _read(ledger.of_run(run_id))
    except _UNREADABLE as error:
        return "", error
    return run_id, None


def note_earlier_run(plan: Plan, found: tuple[str, Exception | None], ledger: Ledger) -> None:
    """Write down which run's index this run uses in all its listings, as ``find_named_index`` found it."""
    run_id, error = found
    if error is not None:
        _note(ledger, error)
    if _uses_named_index(plan):
        ledger.write(EARLIER, IndexOf(run_id))


def _uses_named_index(plan: Plan) -> bool:
    return keeps_index(plan) and not plan.version


def note_version_before(plan: Plan, version: str, ledger: Ledger) -> None:
    """Write down that a run links what the index of the published version holds; nothing if that cannot be read."""
    if not keeps_index(plan):
        return
    run_id = ""
    if version:
        earlier = ledger.of_run(version)
        try:
            _read(earlier)
            made_alike = transfer_digest(earlier.read_plan()) == transfer_digest(plan)
        except _UNREADABLE as error:
            ledger.note("index", [f"the index of version {version} cannot be read, all is copied: {error}"[:500]])
        else:
            run_id = version if made_alike else ""
            if not made_alike:
                ledger.note("index", [f"version {version} was made by another request: all is copied"])
    ledger.write(EARLIER, IndexOf(run_id))


class EarlierIndex:
    """Gives the state in the index of a pair that seems unchanged; see ``fanout.listing.index.copied_index``.

    For one thread: it holds the parts read last. Without an index it reads nothing, and any thread may call it.
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self._ledger = ledger
        self._earlier: Ledger | None = None
        self._files = IndexFiles([])
        self._span_ns = (0, 0)
        self._parts: OrderedDict[str, IndexPart | None] = OrderedDict()
        run_id = ledger.whole_run().read(EARLIER).run if keeps_index(plan) else ""
        if run_id:
            try:
                earlier = ledger.of_run(run_id)
                self._files, self._span_ns = _read(earlier)
                self._earlier = earlier
            except _UNREADABLE as error:
                _note(ledger, error)

    @property
    def marks(self) -> list[str]:
        """Paths between which that run had about ``tuning.PIECE_ENTRIES`` entries each."""
        return self._files.marks

    def verdicts(self, source: FileColumns, destination: FileColumns) -> list[Verdict] | None:
        """The state of each pair; ``None`` if the index vouches for all."""
        if self._earlier is None:
            return [Verdict.UNKNOWN] * len(source)
        found: list[Verdict] = []
        for file, some in groupby(self._files.holding_each(source.paths)):
            start = len(found)
            end = start + sum(1 for _ in some)
            part = self._part(file) if file else _NOTHING
            here, there = source.part(start, end), destination.part(start, end)
            found += [Verdict.UNKNOWN] * (end - start) if part is None else part.verdicts(here, there)
        return None if found.count(Verdict.VOUCHED) == len(found) else found

    def verdict(self, source: Entry, destination: Entry) -> Verdict:
        """The state of a pair; between a bucket and a mount, of one that is no directory."""
        if self._earlier is None:
            return Verdict.UNKNOWN
        file = self._files.holding(source.path)
        part = self._part(file) if file else _NOTHING
        return Verdict.UNKNOWN if part is None else part.verdict(source, destination)

    def holds(self, source: Entry) -> bool:
        """Whether the earlier run listed the same state of a file or symlink of the source."""
        if self._earlier is None:
            return False
        file = self._files.holding(source.path)
        part = self._part(file) if file else _NOTHING
        return part is not None and part.holds(source)

    def was_written_then(self, destination: Entry) -> bool:
        """Whether an entry was written during the earlier run: by ctime, or a Last-Modified in whole seconds."""
        began_ns, ended_ns = self._span_ns
        return began_ns <= destination.changed_ns <= ended_ns - (SECOND_NS if destination.etag else 0)

    def was_written_since(self, destination: Entry, ahead_ns: Callable[[], int]) -> bool:
        """Whether the destination's entry was written after the earlier run ended, by another run or program.

        ``ahead_ns`` says how far the destination's clock may be ahead; it is called only if that matters.
        """
        late_ns = destination.changed_ns - self._span_ns[1] - MARGIN_NS
        return late_ns > 0 and late_ns > ahead_ns()

    def _part(self, file: IndexFile) -> IndexPart | None:
        if file.key in self._parts:
            self._parts.move_to_end(file.key)
            return self._parts[file.key]
        assert self._earlier is not None
        while len(self._parts) >= _HELD:
            self._parts.popitem(last=False)
        try:
            part = IndexPart(self._earlier.read_rows(file.key))
        except _UNREADABLE as error:
            _note(self._ledger, error)
            part = None
        self._parts[file.key] = part
        return part


def _read(earlier: Ledger) -> tuple[IndexFiles, tuple[int, int]]:
    """The files of a run's index, and when the run began and ended, in nanoseconds since 1970."""
    index = earlier.read(INDEX)
    return IndexFiles(index.files), (int(index.began * 1e9), int(index.ended * 1e9))


def _note(ledger: Ledger, error: Exception) -> None:
    """Write one note for the whole run; several functions may write it."""
    text = f"the index of the last run that succeeded cannot be read, its entries are looked at one by one: {error}"
    ledger.whole_run().note("index", [text[:500]])


# Entries of one file: bounds the memory of its writer and its readers to some tens of megabytes.
ENTRIES_PER_FILE = 50_000


class IndexWriter:
    """Takes what one ListSegment copies or finds unchanged; a run that keeps no index writes none."""

    def __init__(self, plan: Plan, segment: Segment, context: Context) -> None:
        self._writes = keeps_index(plan) and plan.request.course.writes
        self._segment, self._context = segment, context
        self._kinds = indexed_kinds(plan)
        self._rows = IndexRows(self._kinds)
        self._files: list[IndexFile] = []

    def add(self, source: Entry, destination: Entry | None) -> None:
        """Take an entry that is unchanged, or without a destination one that is copied."""
        if self._writes:
            self._rows.add(source, destination)
            self._write_many()

    def add_files(self, source: FileColumns, destination: FileColumns | None) -> None:
        """Take files that are unchanged, or without a destination copied."""
        start = 0
        while self._writes and start < len(source):
            end = start + ENTRIES_PER_FILE - len(self._rows)
            self._rows.add_files(source.part(start, end), destination and destination.part(start, end))
            self._write_many()
            start = end

    def _write_many(self) -> None:
        if len(self._rows) >= ENTRIES_PER_FILE:
            self._write()

    def _write(self) -> None:
        key = keys.index_part_key(self._segment.id, self._context.nonce, len(self._files))
        first, last = self._rows.bounds
        self._context.ledger.write_rows(key, self._rows.rows())
        self._files.append(IndexFile(key, first, last, self._rows.marks))
        self._rows = IndexRows(self._kinds)

    def close(self) -> list[IndexFile]:
        """Write what is held; returns the files."""
        if len(self._rows):
            self._write()
        return self._files


def no_index_note(plan: Plan, ledger: Ledger, entries: int) -> list[str]:
    """The summary's note that this run did not succeed, so the next run has no index of it.

    ``entries`` counts those that the run found unchanged or copied; without one there is nothing to say.
    """
    if not (keeps_index(plan) and plan.request.course.writes):
        return []
    found = ledger.find(EARLIER)
    earlier = found.run if found else ""
    if not (earlier or entries):
        return []
    follows = (
        f"uses that of {earlier}, and copies again what changed after that run"
        if earlier
        else f"checks what seems unchanged, up to {entries:,} entries, objects one by one"
    )
    return [f"this run did not succeed and leaves no index: the next run {follows}"]


def write_index(plan: Plan, ledger: Ledger, began: float, ended: float) -> None:
    """Write a run's index, before its summary. The run has succeeded; it began and ended in seconds since 1970."""
    if keeps_index(plan) and plan.request.course.writes:
        files = [file for done in whole_listing(ledger) for file in done.index]
        ledger.write(INDEX, Index(files, began, ended))


def name_index(plan: Plan, ledger: Ledger) -> None:
    """Make a run's index the one that the next run of the same transfer uses. Call it after the run's summary.

    Not for a version: the next publication finds its index by the version's name.
    """
    if _uses_named_index(plan) and plan.request.course.writes:
        ledger.of_run(run_places.INDEXES).write(NEXT(transfer_digest(plan)), IndexOf(ledger.run_id))
